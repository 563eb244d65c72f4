import pLimit, { type LimitFunction } from 'p-limit';
import { RefusalError } from '../fencing/refusal.js';

interface GateOptions {
  /** Calls of a caller that run at once, until their answers have left. */
  atOnce: number;
  /** Calls of a caller that may wait. */
  waiting: number;
}

/**
 * Limits the calls of one caller that run at once, so that they leave the connections to Postgres and the processor to
 * others. The channels of an engine hold at most 128 calls.
 */
export class CallGate {
  readonly #callers = new Map<string, { limit: LimitFunction; calls: number }>();

  constructor(private readonly options: GateOptions) {}

  /** @throws RefusalError `unavailable`; errors of the work */
  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const { atOnce, waiting } = this.options;
    const entry = this.#callers.get(caller) ?? { limit: pLimit(atOnce), calls: 0 };
    if (entry.calls >= atOnce + waiting) throw new RefusalError('unavailable', { retry_after_ms: 1_000 });
    this.#callers.set(caller, entry);
    entry.calls++;
    try {
      return await entry.limit(work);
    } finally {
      if (--entry.calls === 0) this.#callers.delete(caller);
    }
  }

  get callers(): number {
    return this.#callers.size;
  }
}
