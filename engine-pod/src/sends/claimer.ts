import { randomUUID } from 'node:crypto';
import { failpoint } from '@gwk/core/process/failpoints';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import { processClock, type Clock } from '@gwk/core/clock';
import type { Pacing } from './pacing.js';

export interface ClaimerOptions {
  pacing: Pacing;
  idleClaimMs: number;
  /** Whether messages may be sent now. */
  open: () => boolean;
  /** How many more messages the engine may hold. */
  capacity: () => number;
  /** Claims until answered, under one claim id. Throws when the client is closed. */
  claim: (claimId: string, limit: number) => Promise<ClaimedMessage[]>;
  accept: (messages: ClaimedMessage[], claimId: string) => void;
  clock?: Clock;
}

/**
 * Decides when to claim messages and how many: never more than may leave at once. Waiting messages stay in the
 * queue, where they can be canceled, expire or be refused. One claim runs at a time. A notification during a claim
 * causes one more. A notification that cannot be served now (pacing, no connection) is remembered.
 */
export class Claimer {
  readonly #options: ClaimerOptions;
  readonly #clock: Clock;
  /** There may be more messages to claim. */
  #notified = false;
  #claiming: Promise<void> | undefined;
  /** Id of the last claim until it is answered. Repeating it returns the messages it took. */
  #openClaim: string | undefined;
  #stopped = false;
  #cancelPaceTimer: () => void = () => undefined;
  #cancelIdleTimer: () => void = () => undefined;
  /** Callers that wait for the answer of a claim that begins after their call. */
  #waiters: (() => void)[] = [];

  constructor(options: ClaimerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? processClock;
  }

  start(): void {
    this.notify();
    this.#startIdleTimer();
  }

  /** There may be messages to claim. */
  notify(): void {
    this.#notified = true;
    this.recheck();
  }

  /** Notifies. Resolves when that claim is answered, or at once when none is possible now. */
  async notifyAndWait(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#waiters.push(resolve);
      this.notify();
    });
  }

  /** Takes the tokens of new messages that need no claim of their own; false if they must wait for a claim. */
  takeTokens(count: number): boolean {
    if (this.#claiming || this.#notified || this.#limit() < count) return false;
    this.#options.pacing.take(count, this.#clock.now());
    return true;
  }

  /** Stops claiming. Resolves when a claim in progress is answered. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelPaceTimer();
    this.#cancelIdleTimer();
    await this.#claiming;
  }

  /** Call after a condition for claiming may have improved. */
  recheck(): void {
    if (this.#claiming || !this.#notified) return;
    this.#cancelPaceTimer();
    const limit = this.#limit();
    if (limit > 0) {
      this.#claiming = this.#claim(limit);
      return;
    }
    this.#releaseWaiters();
    if (this.#stopped || !this.#options.open()) return;
    const delay = this.#options.pacing.delay(this.#clock.now());
    if (delay > 0) this.#cancelPaceTimer = this.#clock.after(delay, () => this.recheck());
  }

  #limit(): number {
    if (this.#stopped || !this.#options.open()) return 0;
    return Math.max(0, Math.min(this.#options.pacing.available(this.#clock.now()), this.#options.capacity()));
  }

  async #claim(limit: number): Promise<void> {
    this.#notified = false;
    const waiters = this.#waiters.splice(0);
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
      // The client is closed, or the API refused the request. The idle timer tries again.
    }
    this.#options.pacing.giveBack(limit - claimed);
    this.#claiming = undefined;
    for (const resume of waiters) resume();
    if (claimed >= limit) this.#notified = true;
    this.#startIdleTimer();
    if (answered) this.recheck();
    else this.#releaseWaiters();
  }

  #releaseWaiters(): void {
    for (const resume of this.#waiters.splice(0)) resume();
  }

  #startIdleTimer(): void {
    this.#cancelIdleTimer();
    if (this.#stopped) return;
    const delay = this.#options.idleClaimMs * (0.9 + 0.2 * Math.random());
    this.#cancelIdleTimer = this.#clock.after(delay, () => {
      this.notify();
      this.#startIdleTimer();
    });
  }
}
