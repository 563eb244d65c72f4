import type { Logger } from '@gwk/core/log';
import { within } from '../../platform/with-timeout.js';
import type { MediaStore } from './store.js';

/**
 * Whether the store can be written to, by writing to it now and then. Nobody waits for a look but the first who asks:
 * a bucket that hangs must not hold up what readiness says of everything else.
 */
const FRESH_MS = 15_000;
const LOOK_MS = 10_000;

export class StoreWatch {
  readonly #store: Pick<MediaStore, 'check'>;
  readonly #log: Logger;
  #looking: Promise<boolean> | undefined;
  #known: boolean | undefined;
  #at = -Infinity;

  readonly #freshMs: number;

  constructor(store: Pick<MediaStore, 'check'>, log: Logger, freshMs = FRESH_MS) {
    this.#store = store;
    this.#log = log;
    this.#freshMs = freshMs;
  }

  /** As it was found last, at most two looks ago. */
  async writable(): Promise<boolean> {
    if (performance.now() - this.#at >= this.#freshMs) this.#looking ??= this.#look();
    return this.#known ?? (await this.#looking!);
  }

  async #look(): Promise<boolean> {
    const before = this.#known;
    let fault: unknown = new Error('no answer in time');
    const written = this.#store.check().catch((error: unknown) => {
      fault = error;
      throw error;
    });
    this.#known = await within(written, LOOK_MS);
    this.#at = performance.now();
    this.#looking = undefined;
    if (!this.#known && before !== false)
      this.#log.error(
        { err: fault },
        'the store of files cannot be written to: uploads fail, files are not prepared',
      );
    if (this.#known && before === false) this.#log.info('the store of files can be written to again');
    return this.#known;
  }
}
