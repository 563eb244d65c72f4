/** Codes in `{"error": ...}` of a refused engine or operator call. */
export const REFUSALS = {
  /** 401: the token is unknown or revoked (a newer pod has taken over, or the instance is gone). */
  unauthorized: 401,
  /** 409 to `acquire`: another engine holds the lease; `retry_after_ms` says how long at most. */
  'lease-held': 409,
  /** 409: epoch or holder is not the present one: close the socket and exit. */
  fenced: 409,
  /** 404: the instance was deleted. */
  gone: 404,
  invalid: 422,
  unavailable: 503,
} as const;
export type Refusal = keyof typeof REFUSALS;

export const isRefusal = (code: unknown): code is Refusal =>
  typeof code === 'string' && Object.hasOwn(REFUSALS, code);
