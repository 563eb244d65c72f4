import { RefusalError } from '../engines/refusal.js';

/**
 * How much of bodies one caller may have in this process at once: a stolen engine has the right to bodies of 64 MB, and
 * none to many of them. A caller is the number that its credentials are of, however they are written, and however many
 * tokens it has.
 */
const MAX_BYTES = 96 * 1024 * 1024;

export class BodyBudget {
  readonly #held = new Map<string, number>();

  constructor(readonly maxBytes = MAX_BYTES) {}

  /** @throws RefusalError `unavailable`: it may ask again when others of its bodies are through */
  take(caller: string, bytes: number): void {
    const held = (this.#held.get(caller) ?? 0) + bytes;
    if (held > this.maxBytes) throw new RefusalError('unavailable');
    this.#held.set(caller, held);
  }

  /** For one request: what it has taken is given back at once, when it is over. */
  open(caller: string): { take: (bytes: number) => void; close: () => void } {
    let taken = 0;
    return {
      take: (bytes) => {
        this.take(caller, bytes);
        taken += bytes;
      },
      close: () => this.give(caller, taken),
    };
  }

  give(caller: string, bytes: number): void {
    const held = (this.#held.get(caller) ?? 0) - bytes;
    if (held > 0) this.#held.set(caller, held);
    else this.#held.delete(caller);
  }

  get callers(): number {
    return this.#held.size;
  }
}
