import type { ReceivedView } from '@gwk/network/control/views';
import { pause } from '../wait.js';
import type { InstanceStage } from './stage.js';

/** A message of the instance on a phone, and its fate. */
export type Arrival = Pick<ReceivedView, 'seq' | 'at' | 'id' | 'to' | 'group' | 'fate' | 'text' | 'error'>;

const LOOK_MS = 1_000;

/** Records everything that arrives on phones, and all retry receipts, before the network discards them. */
export class Recorder {
  readonly arrivals: Arrival[] = [];
  /** Messages that an engine requested again, because it could not read them. */
  readonly askedAgain: { at: number; ids: string[] }[] = [];
  readonly #stage: InstanceStage;
  readonly #over = new AbortController();
  readonly #looking: Promise<void>;
  #arrivals = 0;
  #receipts = 0;

  constructor(stage: InstanceStage) {
    this.#stage = stage;
    this.#looking = this.#look();
    // `end` reports the error.
    this.#looking.catch(() => undefined);
  }

  /** Reads once more and stops. */
  async end(): Promise<void> {
    this.#over.abort();
    await this.#looking;
    await this.#note();
  }

  async #look(): Promise<void> {
    while (!this.#over.signal.aborted) {
      await this.#note();
      await pause(LOOK_MS);
    }
  }

  async #note(): Promise<void> {
    const { network, phone } = this.#stage;
    for (const entry of await network.received({ from: phone.number, device: 0, after: this.#arrivals })) {
      const { seq, at, id, to, group, fate, text, error } = entry;
      this.#arrivals = Math.max(this.#arrivals, seq);
      this.arrivals.push({
        ...{ seq, at, id, to, fate },
        ...(group !== undefined && { group }),
        ...(text !== undefined && { text }),
        ...(error !== undefined && { error }),
      });
    }
    const asked = await network.receipts({ from: phone.number, type: 'retry', after: this.#receipts });
    for (const { seq, at, ids } of asked) {
      this.#receipts = Math.max(this.#receipts, seq);
      this.askedAgain.push({ at, ids });
    }
  }
}
