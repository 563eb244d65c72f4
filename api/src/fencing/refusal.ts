import { REFUSALS, type Refusal } from '@gwk/core/protocol/refusals';

/** Error answer of the internal API: `{"error": code, ...}` with the HTTP status of the code. */
export class RefusalError extends Error {
  override name = 'RefusalError';
  constructor(
    readonly refusal: Refusal,
    readonly more: { retry_after_ms?: number; issues?: unknown } = {},
  ) {
    super(`refused: ${refusal}`);
  }

  get status(): number {
    return REFUSALS[this.refusal];
  }

  get body(): object {
    return { error: this.refusal, ...this.more };
  }
}

/** Refusal by gwk_fence; null: the caller holds the lease. */
export type LeaseRefusal = 'fenced' | 'gone' | null;
