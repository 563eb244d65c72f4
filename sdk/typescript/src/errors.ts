import type { components } from './generated/api.js';

type ProblemBody = components['schemas']['ProblemOut'];

/** Every error that the client throws. */
export class GwkError extends Error {
  override name = 'GwkError';
}

/** No answer arrived: the connection broke, or the gateway could not be reached. `cause` has the reason. */
export class ConnectionError extends GwkError {
  override name = 'ConnectionError';
}

/** No answer arrived within `timeout`. */
export class TimeoutError extends ConnectionError {
  override name = 'TimeoutError';
}

/** The stream of events ended; `code` is the reason, such as `access_ended`. */
export class StreamEndedError extends GwkError {
  override name = 'StreamEndedError';

  constructor(readonly code: string) {
    super(`The stream ended: ${code}`);
  }
}

/** An error answer (RFC 9457). Branch on `code`: https://github.com/gwk-dev/gwk/blob/main/docs/errors.md */
export class ApiError extends GwkError {
  override name = 'ApiError';
  /** Stable code, such as `contact-opted-out`. */
  readonly code: string;
  readonly status: number;
  /** Name of the kind of problem. Null: a proxy answered. */
  readonly title: string | null;
  /** Address of the page that explains the code. */
  readonly type: string;
  /** The wrong fields, for `validation-error`. */
  readonly errors: readonly { path: string; code: string; message: string }[];
  /** Quote it when you contact support. */
  readonly requestId: string | null;
  /** Seconds to wait before a retry. */
  readonly retryAfter: number | null;
  /** The missing scope, for `insufficient-scope`. */
  readonly requiredScope: string | null;

  constructor(body: Partial<ProblemBody>, response: Response) {
    super(body.detail ?? body.title ?? `HTTP ${response.status}`);
    this.type = body.type ?? 'about:blank';
    this.code = body.type?.split('/').at(-1) ?? `http-${response.status}`;
    this.status = response.status;
    this.title = body.title ?? null;
    this.errors = body.errors ?? [];
    this.requestId = body.request_id ?? response.headers.get('x-request-id');
    this.retryAfter = readRetryAfter(response.headers.get('retry-after'));
    this.requiredScope = body.required_scope ?? null;
  }
}

/** 401: the key is missing, unknown or revoked. */
export class AuthenticationError extends ApiError {
  override name = 'AuthenticationError';
}
/** 403: the key may not do this, or the account is suspended. */
export class PermissionError extends ApiError {
  override name = 'PermissionError';
}
/** 404 and 410: the resource does not exist, or the key has no access to it. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError';
}
/** 409 and 412: the state of the resource does not permit it. */
export class ConflictError extends ApiError {
  override name = 'ConflictError';
}
/** 400, 413, 422 and other 4xx: correct the request first. */
export class InvalidRequestError extends ApiError {
  override name = 'InvalidRequestError';
}
/** 429: a limit was reached; `retryAfter` says when to try again. */
export class RateLimitError extends ApiError {
  override name = 'RateLimitError';
}
/** 5xx: the gateway or the network failed. */
export class ServerError extends ApiError {
  override name = 'ServerError';
}

const CLASSES: Readonly<Record<number, typeof ApiError>> = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  410: NotFoundError,
  412: ConflictError,
  429: RateLimitError,
};

/** Makes the error of an answer. A proxy may answer without a problem. */
export function createApiError(body: unknown, response: Response): ApiError {
  const Class = CLASSES[response.status] ?? (response.status >= 500 ? ServerError : InvalidRequestError);
  return new Class(typeof body === 'object' && body !== null ? body : {}, response);
}

function readRetryAfter(value: string | null): number | null {
  if (value === null) return null;
  const seconds = Number(value);
  const wait = Number.isNaN(seconds) ? (Date.parse(value) - Date.now()) / 1000 : seconds;
  return Number.isNaN(wait) ? null : Math.max(0, wait);
}
