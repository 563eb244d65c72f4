/** Codes in `{"error": ...}` of a refused call, with their HTTP status. */
export const REFUSALS = {
  /** The token is unknown or revoked: a newer pod has taken over, or the instance is deleted. */
  unauthorized: 401,
  /** Only for `acquire`: another engine holds the lease, for at most `retry_after_ms`. */
  'lease-held': 409,
  /** Epoch or holder is outdated: the engine must close its socket and exit. */
  fenced: 409,
  /** The instance is deleted. */
  gone: 404,
  /** Only for `session-write`: the session would exceed its limit. Nothing was written. */
  'session-full': 409,
  /** Only for `media-upload`: the file is larger than the gateway permits. */
  'too-large': 413,
  invalid: 422,
  unavailable: 503,
} as const;
export type Refusal = keyof typeof REFUSALS;

export const isRefusal = (code: unknown): code is Refusal =>
  typeof code === 'string' && Object.hasOwn(REFUSALS, code);
