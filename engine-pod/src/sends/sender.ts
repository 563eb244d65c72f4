import { randomUUID } from 'node:crypto';
import { processClock, type Clock } from '@gwk/core/clock';
import { failpoint } from '@gwk/core/process/failpoints';
import type { ClaimedMessage, Outcome } from '@gwk/core/protocol/engine';
import { Followers } from './fast/followers.js';
import { HeldMessage } from './held-message.js';
import { KeyedQueue } from './keyed-queue.js';
import type { SendContext, SendResult } from './send-task.js';

interface SenderOptions extends SendContext {
  /** Stores an outcome. Resolves once stored, to whether there may be messages to claim. */
  report: (outcome: Outcome) => Promise<boolean>;
  /** An outcome is stored: its notification can be acknowledged, and another message can be claimed. */
  settled: (notification: string | undefined, waiting: boolean) => void;
  /** A claimed message was returned and used no token of the pacing. */
  returned: () => void;
  finished: (result: SendResult['kind'], tookMs: number) => void;
}

/** Limits on the messages an engine holds. The others wait in Postgres, where they cost the engine nothing. */
const MAX_HELD = 500;
const MAX_HELD_BYTES = 4_000_000;
const MAX_CLAIM = 100;

/**
 * Holds messages until they are settled (states: held-message.ts). Runs one of each conversation at a time and reports
 * the outcomes.
 */
export class Sender {
  readonly #options: SenderOptions;
  readonly #queue = new KeyedQueue<HeldMessage>();
  readonly #followers: Followers;
  #bytes = 0;
  #idle: (() => void)[] = [];
  readonly #clock: Clock;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? processClock;
    this.#followers = new Followers({
      queue: this.#queue,
      giveBack: (held) => void this.#finish(held, { kind: 'returned' }),
      clock: this.#clock,
    });
  }

  get held(): number {
    return this.#queue.size;
  }

  /** Number of conversations with messages. */
  get activeConversations(): number {
    return this.#queue.activeKeys;
  }

  /** How many more messages may be claimed now. */
  get capacity(): number {
    return this.#bytes > MAX_HELD_BYTES ? 0 : Math.min(MAX_CLAIM, MAX_HELD - this.held);
  }

  /** Whether to claim messages behind the first of a conversation. */
  get wantsFollowers(): boolean {
    return this.#followers.areWanted;
  }

  isHeld(messageId: string): boolean {
    return this.#queue.get(messageId) !== undefined;
  }

  /** The last held message of each of these conversations that has one. */
  findLastHeld(conversations: ReadonlySet<string>): HeldMessage[] {
    const last = new Map<string, HeldMessage>();
    for (const held of this.#queue.items()) {
      const { conversation_id } = held.message;
      if (conversations.has(conversation_id)) last.set(conversation_id, held);
    }
    return [...last.values()];
  }

  /** Keeps the entry until the message is settled; false when the message is not held or has an entry already. */
  keepNotification(messageId: string, entryId: string): boolean {
    const held = this.#queue.get(messageId);
    if (!held || held.notification !== undefined) return false;
    held.notification = entryId;
    return true;
  }

  /**
   * Drops messages that are already held: a second copy must not be sent beside the first. Postgres had lost the former claim
   * of a held message, so the outcome of that message names the newer claim. If a held message ended unsent, its outcome
   * returns the newer claim. The later messages of its conversation must not pass it, so they return too.
   */
  accept(messages: ClaimedMessage[], claimId: string): void {
    const unsentIn = new Set<string>();
    const at = this.#clock.now();
    for (const message of messages) {
      const { message_id, conversation_id } = message;
      const former = this.#queue.get(message_id);
      if (former) {
        former.grant(claimId, at);
        // Its token was taken when it was first held.
        this.#options.returned();
        // After a merge of contacts it runs under another conversation, beside which the later ones must not run.
        const isMoved = former.message.conversation_id !== conversation_id;
        if (former.isUnsent || isMoved) unsentIn.add(conversation_id);
        continue;
      }
      const held = new HeldMessage(message, { kind: 'granted', id: claimId, at }, this.#options);
      if (unsentIn.has(conversation_id)) void this.#finish(held, { kind: 'returned' });
      else this.#offer(held);
    }
  }

  /** Holds a message that nobody has claimed. The call that stores what is built of it asks for the claim. */
  hold(message: ClaimedMessage, notification: string | undefined): void {
    const claim = { kind: 'requested', id: randomUUID(), at: this.#clock.now() } as const;
    const held = new HeldMessage(message, claim, this.#options);
    held.notification = notification;
    this.#offer(held);
  }

  #offer(held: HeldMessage): void {
    const { message_id, conversation_id } = held.message;
    const place = this.#queue.offer(message_id, conversation_id, held);
    this.#bytes += held.bytes;
    if (place === 'run') void this.#run(held);
    else this.#followers.watch();
  }

  /** Resolves when no message is held. */
  async waitUntilEmpty(): Promise<void> {
    while (this.held > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Runs the message, then those that wait behind it. The next one does not wait until the outcome is recorded. */
  async #run(held: HeldMessage): Promise<void> {
    for (let next: HeldMessage | undefined = held; next;) {
      const running: HeldMessage = next;
      running.stage = { kind: 'running', since: this.#clock.now() };
      const result = await running.task.run();
      void this.#finish(running, result);
      if (result.kind !== 'sent') this.#followers.returnBehind(running);
      next = this.#queue.finish(running.message.conversation_id);
    }
  }

  async #finish(held: HeldMessage, result: SendResult): Promise<void> {
    held.end(result);
    if (!held.isClaimed) await held.waitForClaim();
    if (!held.isClaimed) return this.#leaveToClaims(held);
    this.#options.finished(result.kind, this.#clock.now() - held.claimedAt);
    held.endSpan(result);
    const { claimId } = held;
    const outcome = held.toOutcome(result);
    // A returned message can be claimed again at once, even by this engine, and must not be taken for a copy.
    if (outcome?.kind === 'returned') {
      this.#forget(held);
      if (!held.task.attempted) this.#options.returned();
    }
    try {
      let waiting = outcome ? await this.#report(outcome) : true;
      // The message was claimed again while the outcome of its lost claim was on the way, which the API then ignored.
      if (held.claimId !== claimId) {
        this.#forget(held);
        waiting = await this.#report(held.toReturned());
      }
      // Free the capacity first, because the next claim uses all of it.
      this.#forget(held);
      this.#options.settled(held.notification, waiting || held.hasNext);
    } catch {
      // The client is closed, or the API refused the outcome and the batch sender logged it.
    } finally {
      this.#forget(held);
    }
  }

  /** Nobody has claimed the message, so it has no outcome: a claim finds it again if it still waits. */
  #leaveToClaims(held: HeldMessage): void {
    this.#forget(held);
    held.endSpan();
    this.#options.returned();
    this.#options.settled(held.notification, true);
  }

  async #report(outcome: Outcome): Promise<boolean> {
    if (outcome.kind === 'returned') return this.#options.report(outcome);
    failpoint('engine.before-outcome');
    const waiting = await this.#options.report(outcome);
    failpoint('engine.after-outcome');
    return waiting;
  }

  #forget(held: HeldMessage): void {
    const { message_id } = held.message;
    if (this.#queue.get(message_id) !== held) return;
    this.#queue.forget(message_id);
    this.#bytes -= held.bytes;
    if (this.held === 0) for (const resume of this.#idle.splice(0)) resume();
  }
}
