import { RefusalError } from '../engines/refusal.js';

const MAX_BYTES = 96 * 1024 * 1024;

/**
 * Limits the bytes of concurrent bodies per caller in this process: an engine may send bodies of 64 MB, but a compromised
 * one must not send many at once. A caller is the instance of the credentials, whatever number of tokens it has.
 */
export class BodyBudget {
  readonly #held = new Map<string, number>();

  constructor(readonly maxBytes = MAX_BYTES) {}

  /**
   * Tracks one request; `close` releases its bytes. `take` throws RefusalError `unavailable`: retry when other bodies of the
   * caller have finished.
   */
  open(caller: string): { take: (bytes: number) => void; close: () => void } {
    let taken = 0;
    return {
      take: (bytes) => {
        const held = (this.#held.get(caller) ?? 0) + bytes;
        if (held > this.maxBytes) throw new RefusalError('unavailable');
        this.#held.set(caller, held);
        taken += bytes;
      },
      close: () => {
        const held = (this.#held.get(caller) ?? 0) - taken;
        if (held > 0) this.#held.set(caller, held);
        else this.#held.delete(caller);
      },
    };
  }

  get callers(): number {
    return this.#held.size;
  }
}
