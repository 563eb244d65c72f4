import type { components } from '../generated/api';

type ProblemBody = components['schemas']['ProblemOut'];

/** An error answer of the API (RFC 9457), or a request without an answer (`network`). */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  readonly requestId: string | null;
  readonly fields: readonly { path: string; message: string }[];
  readonly requiredScope: string | null;
  /** Second factors of the person, for `mfa-required`. */
  readonly factors: NonNullable<ProblemBody['factors']>;
  /** From the header `Retry-After`. */
  readonly retryAfterSeconds: number | null;

  constructor(body: Partial<ProblemBody>, response?: Response) {
    const {
      type = 'network',
      title = '',
      detail,
      errors = [],
      factors = [],
      request_id,
      required_scope,
    } = body;
    super(detail ?? title);
    this.code = type.split('/').at(-1)!;
    this.status = response?.status ?? 0;
    this.fields = errors;
    this.requestId = request_id ?? response?.headers.get('x-request-id') ?? null;
    this.requiredScope = required_scope ?? null;
    this.factors = factors;
    this.retryAfterSeconds = readRetryAfter(response);
  }
}

function readRetryAfter(response: Response | undefined): number | null {
  const seconds = response?.headers.get('retry-after') ?? null;
  return seconds === null ? null : Number(seconds);
}

/** Reads the problem of an error answer. A proxy may answer without one. */
export async function readProblem(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as Partial<ProblemBody>;
  return new ApiError({ type: 'internal-error', title: `HTTP ${response.status}`, ...body }, response);
}
