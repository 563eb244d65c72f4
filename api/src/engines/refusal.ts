import { REFUSALS, type Refusal } from '@gwk/core/protocol/refusals';

/** What the internal port answers in place of a result: `{"error": code, ...}` with the status of the code. */
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
}

/** A refusal of the epoch rule (gwk_fence): null when the lease is the caller's. */
export type LeaseRefusal = 'fenced' | 'gone' | null;
