import { ApiError, GwkError, StreamEndedError } from '@gwk/client';
import { cleanLine } from '@gwk/core/process/clean-text';

/** Exit codes of the program by the kind of the failure. docs/cli.md shows this table. */
export const EXIT_CODES = {
  ok: [0, 'done'],
  unexpected: [1, 'a fault of the program'],
  usage: [2, 'an unknown command or option, or a missing value'],
  auth: [3, 'no key, a rejected key, or a key without the right'],
  'not-found': [4, 'the gateway has no such resource'],
  refused: [5, 'the gateway refused the request'],
  network: [6, 'the gateway does not answer, or answers 5xx'],
  timeout: [7, 'the awaited state did not come in time'],
} as const;
export type FailureKind = Exclude<keyof typeof EXIT_CODES, 'ok'>;

/** An expected failure: its message is for the user. */
export class CliError extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export function findKind(status: number): FailureKind {
  if (status === 401 || status === 403) return 'auth';
  if (status === 404 || status === 410) return 'not-found';
  return status >= 500 ? 'network' : 'refused';
}

export function describeProblem(problem: ApiError): string {
  const { title, message, errors, requiredScope, requestId, type } = problem;
  const lines = [
    `${title ?? 'The gateway refused the request'} (${problem.status})`,
    ...(message === title ? [] : [message]),
    ...errors.map((error) => `  ${error.path}: ${error.message}`),
    ...(requiredScope === null ? [] : [`Required scope: ${requiredScope}`]),
    ...(requestId === null ? [] : [`Request: ${requestId}`]),
    ...(type.startsWith('http') ? [`More: ${type}`] : []),
  ];
  return lines.map(cleanLine).join('\n');
}

/** Kind and text of the reasons why the gateway ends a stream of events. */
const ENDS: Readonly<Record<string, [FailureKind, string]>> = {
  access_ended: ['auth', 'The key was revoked, or may no longer read these events'],
  too_many_streams: ['refused', 'Too many streams are open for this key'],
};

/** The kind and the text of an expected failure. Null: a fault of the program. */
export function explainFailure(error: unknown): { kind: FailureKind; message: string } | null {
  if (error instanceof CliError) return error;
  if (error instanceof ApiError) return { kind: findKind(error.status), message: describeProblem(error) };
  if (!(error instanceof GwkError)) return null;
  const { cause, message } = error;
  if (cause instanceof CliError) return cause;
  const [kind, text] = (error instanceof StreamEndedError && ENDS[error.code]) || [
    'network' as const,
    message,
  ];
  return { kind, message: cause instanceof Error ? `${text}: ${cause.message}` : text };
}

/** The exit code of an error, and the text for standard error. */
export function describeFailure(error: unknown): { code: number; text: string } {
  const failure = explainFailure(error);
  if (failure) return { code: EXIT_CODES[failure.kind][0], text: failure.message };
  return { code: EXIT_CODES.unexpected[0], text: error instanceof Error ? error.message : String(error) };
}
