import type { Logger } from '@gwk/core/log';
import { resolvesWithin } from '@gwk/core/async/timeout';
import type { MediaStore } from './store.js';

const FRESH_MS = 15_000;
const CHECK_TIMEOUT_MS = 10_000;

/**
 * Checks whether the store is writable by a write every 15 s at most. Only the first caller waits for a check, so a hanging
 * bucket does not delay /readyz.
 */
export class StoreWatch {
  readonly #store: Pick<MediaStore, 'check'>;
  readonly #log: Logger;
  #checking: Promise<boolean> | undefined;
  #writable: boolean | undefined;
  #checkedAt = -Infinity;

  readonly #freshMs: number;

  constructor(store: Pick<MediaStore, 'check'>, log: Logger, freshMs = FRESH_MS) {
    this.#store = store;
    this.#log = log;
    this.#freshMs = freshMs;
  }

  /** Result of the last finished check; starts a new check if it is older than 15 s. */
  async writable(): Promise<boolean> {
    if (performance.now() - this.#checkedAt >= this.#freshMs) this.#checking ??= this.#check();
    return this.#writable ?? (await this.#checking!);
  }

  async #check(): Promise<boolean> {
    const before = this.#writable;
    let fault: unknown = new Error('no answer in time');
    const written = this.#store.check().catch((error: unknown) => {
      fault = error;
      throw error;
    });
    this.#writable = await resolvesWithin(written, CHECK_TIMEOUT_MS);
    this.#checkedAt = performance.now();
    this.#checking = undefined;
    if (!this.#writable && before !== false)
      this.#log.error({ err: fault }, 'media store not writable; uploads and media preparation fail');
    if (this.#writable && before === false) this.#log.info('media store writable again');
    return this.#writable;
  }
}
