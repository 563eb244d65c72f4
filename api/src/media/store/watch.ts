import type { Logger } from '@gwk/core/process/log';
import { withTimeout } from '@gwk/core/async/timeout';
import type { MediaStore } from './store.js';

const FRESH_MS = 15_000;
const CHECK_TIMEOUT_MS = 10_000;

/**
 * Checks whether the store is writable by a write every 15 s at most. Only the first caller waits for a check, so a hanging
 * bucket does not delay /readyz.
 */
export class StoreWatch {
  #checking: Promise<boolean> | undefined;
  #writable: boolean | undefined;
  #checkedAt = -Infinity;

  constructor(
    private readonly store: Pick<MediaStore, 'check'>,
    private readonly log: Logger,
    private readonly freshMs = FRESH_MS,
  ) {}

  /** Result of the last finished check; starts a new check if it is older than 15 s. */
  async writable(): Promise<boolean> {
    if (performance.now() - this.#checkedAt >= this.freshMs) this.#checking ??= this.#check();
    return this.#writable ?? (await this.#checking!);
  }

  async #check(): Promise<boolean> {
    const before = this.#writable;
    const late = (): never => {
      throw new Error('no answer in time');
    };
    const fault = await withTimeout(this.store.check(), CHECK_TIMEOUT_MS, late).then(
      () => null,
      (error: unknown) => error,
    );
    this.#writable = fault === null;
    this.#checkedAt = performance.now();
    this.#checking = undefined;
    if (fault !== null && before !== false)
      this.log.error({ err: fault }, 'media store not writable; uploads and media preparation fail');
    if (fault === null && before === false) this.log.info('media store writable again');
    return this.#writable;
  }
}
