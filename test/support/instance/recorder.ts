import type { ReceivedView } from '@gwk/network/control/views';
import { pause } from '../wait.js';
import type { InstanceStage } from './stage.js';

/** What became of a message of the number on a phone. */
export type Arrival = Pick<ReceivedView, 'seq' | 'at' | 'id' | 'to' | 'group' | 'fate' | 'text' | 'error'>;

const LOOK_MS = 1_000;

/** Notes everything that arrives on phones, and whoever asks for something again, before the network forgets it. */
export class Recorder {
  readonly arrivals: Arrival[] = [];
  /** Asked for again by an engine, because it could not read it. */
  readonly askedAgain: { at: number; ids: string[] }[] = [];
  readonly #stage: InstanceStage;
  readonly #over = new AbortController();
  readonly #looking: Promise<void>;
  #arrivals = 0;
  #receipts = 0;

  constructor(stage: InstanceStage) {
    this.#stage = stage;
    this.#looking = this.#look();
    // Told by `end`.
    this.#looking.catch(() => undefined);
  }

  /** Looks a last time. */
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
