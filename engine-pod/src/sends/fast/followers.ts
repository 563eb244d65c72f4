import type { Cancel, Clock } from '@gwk/core/clock';
import type { HeldMessage } from '../held-message.js';
import type { KeyedQueue } from '../keyed-queue.js';
import { FollowerPause } from './follower-pause.js';

interface FollowersOptions {
  queue: KeyedQueue<HeldMessage>;
  /** Returns a message to the queue in Postgres. */
  giveBack: (held: HeldMessage) => void;
  clock: Clock;
}

/** The messages behind one that takes longer return to the queue, where people can cancel them. */
const LATE_MS = 1_000;
const CHECK_EVERY_MS = 500;

/** The messages that were claimed behind the first of their conversation. */
export class Followers {
  readonly #options: FollowersOptions;
  readonly #pause = new FollowerPause();
  #stopChecks: Cancel | null = null;

  constructor(options: FollowersOptions) {
    this.#options = options;
  }

  /** Whether to claim messages behind the first of a conversation. */
  get areWanted(): boolean {
    return this.#pause.isOver(this.#options.clock.now());
  }

  /** A message waits behind another one. */
  watch(): void {
    this.#stopChecks ??= this.#options.clock.every(CHECK_EVERY_MS, () => this.#returnLate());
  }

  /**
   * Returns the messages behind one that was not sent. A sent message was built, which proves its claim. Postgres may have
   * lost the claim of any other message, also of one that failed before it was built. Postgres would then put that message
   * before the later ones again.
   */
  returnBehind(unsent: HeldMessage): void {
    this.#return((_, running) => running === unsent);
  }

  /**
   * Returns the messages behind one that is late, except those that were claimed when it was late already. The engine would
   * claim the first of these again at once.
   */
  #returnLate(): void {
    const now = this.#options.clock.now();
    const areReturned = this.#return(
      ({ claimedAt }, { stage }) =>
        stage.kind === 'running' && now - stage.since >= LATE_MS && claimedAt - stage.since < LATE_MS,
    );
    if (areReturned) this.#pause.begin(now);
    if (this.#options.queue.hasWaiting) return;
    this.#stopChecks?.();
    this.#stopChecks = null;
  }

  /** Returns waiting messages, except those that may have left. @returns whether there were any */
  #return(isWanted: (waiting: HeldMessage, running: HeldMessage) => boolean): boolean {
    const { queue, giveBack } = this.#options;
    const later = queue.withdraw((waiting, running) => !waiting.task.attempted && isWanted(waiting, running));
    for (const held of later) giveBack(held);
    return later.length > 0;
  }
}
