import { randomUUID } from 'node:crypto';
import { failpoint } from '@gwk/core/failpoints';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import { processClock, type Clock } from '@gwk/core/clock';
import type { Pacing } from './pacing.js';

export interface ClaimerOptions {
  pacing: Pacing;
  idleClaimMs: number;
  /** Whether messages may be given to the network now. */
  open: () => boolean;
  /** How many more may be held. */
  room: () => number;
  /** Asks until answered, under one claim id; throws when the port is closed. */
  claim: (claimId: string, limit: number) => Promise<ClaimedMessage[]>;
  accept: (messages: ClaimedMessage[], claimId: string) => void;
  clock?: Clock;
}

/**
 * Decides when to claim and how many. Never more than may leave at once: what waits for its turn stays in the
 * queue, where it can be canceled, expire or be refused. One claim at a time; a bell that rings meanwhile makes one
 * more, and a bell that cannot be obeyed now (pacing, no connection) is remembered.
 */
export class Claimer {
  readonly #options: ClaimerOptions;
  readonly #clock: Clock;
  /** More may wait. */
  #rung = false;
  #claiming = false;
  /** Of the last claim, until it is answered: what it took is given to whoever asks under the same id. */
  #openClaim: string | undefined;
  #stopped = false;
  #endPace: () => void = () => undefined;
  #endIdle: () => void = () => undefined;
  /** Those who wait for the answer of a claim that begins after they rang. */
  #ringers: (() => void)[] = [];
  #idle: (() => void)[] = [];

  constructor(options: ClaimerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? processClock;
  }

  start(): void {
    this.ring();
    this.#armIdle();
  }

  /** Something may wait. */
  ring(): void {
    this.#rung = true;
    this.#consider();
  }

  /** What a claim depends on has changed for the better. */
  reconsider(): void {
    this.#consider();
  }

  /** Rings; resolves when that claim is answered, or at once when none can be made now. */
  async heard(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#ringers.push(resolve);
      this.ring();
    });
  }

  /** Claims no more; resolves when the claim under way, if any, is answered. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#endPace();
    this.#endIdle();
    if (this.#claiming) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #consider(): void {
    if (this.#claiming || !this.#rung) return;
    this.#endPace();
    const limit = this.#limit();
    if (limit > 0) {
      void this.#claim(limit);
      return;
    }
    this.#releaseRingers();
    if (this.#stopped || !this.#options.open()) return;
    const delay = this.#options.pacing.delay(this.#clock.now());
    if (delay > 0) this.#endPace = this.#clock.after(delay, () => this.#consider());
  }

  #limit(): number {
    if (this.#stopped || !this.#options.open()) return 0;
    return Math.max(0, Math.min(this.#options.pacing.available(this.#clock.now()), this.#options.room()));
  }

  async #claim(limit: number): Promise<void> {
    this.#claiming = true;
    this.#rung = false;
    const ringers = this.#ringers.splice(0);
    this.#options.pacing.take(limit, this.#clock.now());
    let claimed = 0;
    let answered = false;
    try {
      const claimId = (this.#openClaim ??= randomUUID());
      const messages = await this.#options.claim(claimId, limit);
      claimed = messages.length;
      this.#openClaim = undefined;
      answered = true;
      if (claimed > 0) failpoint('engine.after-claim');
      this.#options.accept(messages, claimId);
    } catch {
      // The port is closed, or refuses the request: the idle timer asks again.
    }
    this.#options.pacing.giveBack(limit - claimed);
    this.#claiming = false;
    for (const resume of [...ringers, ...this.#idle.splice(0)]) resume();
    if (claimed >= limit) this.#rung = true;
    this.#armIdle();
    if (answered) this.#consider();
    else this.#releaseRingers();
  }

  #releaseRingers(): void {
    for (const resume of this.#ringers.splice(0)) resume();
  }

  #armIdle(): void {
    this.#endIdle();
    if (this.#stopped) return;
    const delay = this.#options.idleClaimMs * (0.9 + 0.2 * Math.random());
    this.#endIdle = this.#clock.after(delay, () => {
      this.ring();
      this.#armIdle();
    });
  }
}
