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

/** Fields of application/problem+json. */
export interface ProblemFields {
  type?: string;
  title?: string;
  status?: number;
  detail?: string;
  request_id?: string;
  required_scope?: string;
  errors?: { path: string; message: string }[];
}

/** The gateway answered with a problem. */
export class ProblemError extends CliError {
  constructor(
    readonly status: number,
    readonly problem: ProblemFields,
  ) {
    super(findKind(status), describeProblem(status, problem));
  }
}

export function findKind(status: number): FailureKind {
  if (status === 401 || status === 403) return 'auth';
  if (status === 404 || status === 410) return 'not-found';
  return status >= 500 ? 'network' : 'refused';
}

export function describeProblem(status: number, problem: ProblemFields): string {
  const fields = (problem.errors ?? []).map(({ path, message }) => `  ${path}: ${message}`);
  const lines = [
    `${problem.title ?? 'The gateway refused the request'} (${status})`,
    ...(problem.detail === undefined ? [] : [problem.detail]),
    ...fields,
    ...(problem.required_scope === undefined ? [] : [`Required scope: ${problem.required_scope}`]),
    ...(problem.request_id === undefined ? [] : [`Request: ${problem.request_id}`]),
    ...(problem.type?.startsWith('http') === true ? [`More: ${problem.type}`] : []),
  ];
  return lines.join('\n');
}

/** The exit code of an error, and the text for standard error. */
export function describeFailure(error: unknown): { code: number; text: string } {
  if (error instanceof CliError) return { code: EXIT_CODES[error.kind][0], text: error.message };
  return { code: EXIT_CODES.unexpected[0], text: error instanceof Error ? error.message : String(error) };
}
