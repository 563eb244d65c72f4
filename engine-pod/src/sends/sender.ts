import { processClock, type Cancel, type Clock } from '@gwk/core/clock';
import { failpoint } from '@gwk/core/failpoints';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { BuiltMessageRecord, ClaimedMessage, Outcome } from '@gwk/core/protocol/engine';
import type { NotifiedMessage } from '@gwk/core/protocol/notified-messages';
import type { Logger } from '@gwk/core/log';
import { toPublicId } from '@gwk/core/public-ids';
import { tracing, type Span } from '@gwk/core/tracing/tracing';
import { randomUUID } from 'node:crypto';
import { SendTask, type SendResult, type SendContext } from './send-task.js';
import { FollowerPause } from './follower-pause.js';
import { KeyedQueue } from './keyed-queue.js';

interface SenderOptions extends SendContext {
  log: Logger;
  /** Stores an outcome. Resolves once stored, to whether there may be messages to claim. */
  report: (outcome: Outcome) => Promise<boolean>;
  /** An outcome is stored: its notification can be acknowledged, and another message can be claimed. */
  settled: (notification: string | undefined, waiting: boolean) => void;
  /** A claimed message was returned and used no token of the pacing. */
  returned: () => void;
  finished: (result: SendResult['kind'], tookMs: number) => void;
}

interface HeldMessage {
  delivery: SendTask;
  claimId: string;
  claimedAt: number;
  /** When it began to run. */
  startedAt: number;
  /** It has a result, and was not sent. */
  isUnsent: boolean;
  /** False for a message that came with its notification, until what was built of it is stored. */
  isClaimed: boolean;
  /** That call. */
  storing: Promise<boolean> | undefined;
  bytes: number;
  /** Stream entry of the notification that announced the message. */
  notification: string | undefined;
  /** A notification announced a later message of its conversation, which can be claimed once this one is settled. */
  hasNext: boolean;
  span: Span;
}

/** Limits on the messages an engine holds. The others wait in Postgres, where they cost the engine nothing. */
const MAX_HELD = 500;
const MAX_HELD_BYTES = 4_000_000;
const MAX_CLAIM = 100;
/** The messages behind one that takes longer return to the queue, where people can cancel them. */
const LATE_MS = 1_000;
const LOOK_EVERY_MS = 500;
const TIMERS = { max: 1_000, ttlMs: 24 * 3_600_000 };
/** Longer than the engine accepts messages of notifications. */
const SEEN = { max: 1_000, ttlMs: 120_000 };

/**
 * Holds the claimed messages until they are settled. Runs one of each conversation at a time and reports the
 * outcomes.
 */
export class Sender {
  readonly #options: SenderOptions;
  readonly #queue = new KeyedQueue<HeldMessage>();
  #bytes = 0;
  #idle: (() => void)[] = [];
  readonly #clock: Clock;
  #stopLooking: Cancel | null = null;
  readonly #followerPause = new FollowerPause();
  /** By conversation: the timer of disappearing messages in the last claim. Notifications do not have it. */
  readonly #timers: ExpiringMap<NonNullable<ClaimedMessage['timer']>>;
  /** Messages that were claimed or built from their notification, so that a late or repeated one has no effect. */
  readonly #seen: ExpiringMap<true>;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? processClock;
    this.#timers = new ExpiringMap(TIMERS, () => this.#clock.now());
    this.#seen = new ExpiringMap(SEEN, () => this.#clock.now());
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
    return this.#followerPause.isOver(this.#clock.now());
  }

  /** Keeps the entry until the message is settled; false when the message is not held or has an entry already. */
  keepNotification(messageId: string, entryId: string): boolean {
    const held = this.#queue.get(messageId);
    if (!held || held.notification !== undefined) return false;
    held.notification = entryId;
    return true;
  }

  /**
   * Drops messages that are already held: a second copy must not be sent beside the first. Postgres had lost their former claim,
   * so their outcomes name the newer one. If one ended unsent, its newer claim will be returned, and the later messages of its
   * conversation must not pass it.
   */
  accept(messages: ClaimedMessage[], claimId: string): void {
    const unsentIn = new Set<string>();
    for (const message of messages) {
      this.#rememberTimer(message);
      this.#seen.set(message.message_id, true);
      const known = this.#queue.get(message.message_id);
      if (known) {
        known.claimId = claimId;
        known.isClaimed = true;
        known.claimedAt = this.#clock.now();
        // Its token was taken when it was first held.
        this.#options.returned();
        // After a merge of contacts it runs under another conversation, beside which the later ones must not run.
        const isMoved = known.delivery.message.conversation_id !== message.conversation_id;
        if (known.isUnsent || isMoved) unsentIn.add(message.conversation_id);
        continue;
      }
      const held = this.#hold(message, { claimId, isClaimed: true });
      if (unsentIn.has(message.conversation_id)) void this.#finish(held, { kind: 'returned' });
      else this.#offer(held);
    }
  }

  /**
   * Decides what to do with the messages of a notification:
   * - build: neither they nor others of their conversations are held
   * - wait: all are behind held ones of their conversations. Only the first of a conversation can be claimed, so the last held
   *   one causes a claim once it is settled.
   * - nothing: all were claimed or built before. One that waits again was returned, and each return causes a claim.
   * - claim: any others
   */
  receive(messages: readonly NotifiedMessage[]): 'build' | 'wait' | 'nothing' | 'claim' {
    const seen = messages.filter(
      ({ message_id }) => this.#queue.get(message_id) ?? this.#seen.get(message_id),
    );
    if (seen.length > 0) return seen.length === messages.length ? 'nothing' : 'claim';
    const wanted = new Set(messages.map(({ conversation_id }) => conversation_id));
    const lastHeld = new Map<string, HeldMessage>();
    for (const held of this.#queue.items()) {
      const { conversation_id } = held.delivery.message;
      if (wanted.has(conversation_id)) lastHeld.set(conversation_id, held);
    }
    if (lastHeld.size === 0) return 'build';
    if (lastHeld.size < wanted.size) return 'claim';
    for (const held of lastHeld.values()) held.hasNext = true;
    return 'wait';
  }

  /**
   * Builds messages that came with their notification. The call that stores what was built claims them.
   * @param entry of the notification, to be kept until the last one of them is settled
   */
  take(messages: readonly NotifiedMessage[], entry: string): void {
    messages.forEach((notified, index) => {
      const timer = this.#timers.get(notified.conversation_id);
      const message = { ...UNCLAIMED, ...notified, ...(timer && { timer }) };
      const held = this.#hold(message, { claimId: randomUUID(), isClaimed: false });
      this.#seen.set(notified.message_id, true);
      if (index === messages.length - 1) held.notification = entry;
      this.#offer(held);
    });
  }

  #rememberTimer({ conversation_id, timer }: ClaimedMessage): void {
    if (timer) this.#timers.set(conversation_id, timer);
    else this.#timers.delete(conversation_id);
  }

  #hold(
    message: ClaimedMessage,
    { claimId, isClaimed }: Pick<HeldMessage, 'claimId' | 'isClaimed'>,
  ): HeldMessage {
    const span = startSpan(message);
    const context = this.#withSpan(span);
    const held: HeldMessage = {
      delivery: new SendTask(message, {
        ...context,
        storeBuilt: async (built) => {
          // Also if it was claimed meanwhile, so that the timer is compared.
          held.storing = context.storeBuilt(isClaimed ? built : withClaim(built, held));
          const isOurs = await held.storing;
          held.isClaimed ||= isOurs;
          return isOurs;
        },
      }),
      claimId,
      claimedAt: this.#clock.now(),
      startedAt: 0,
      isUnsent: false,
      isClaimed,
      storing: undefined,
      bytes: message.content.length + (message.built?.length ?? 0),
      notification: undefined,
      hasNext: false,
      span,
    };
    return held;
  }

  #offer(held: HeldMessage): void {
    const { message_id, conversation_id } = held.delivery.message;
    const place = this.#queue.offer(message_id, conversation_id, held);
    this.#bytes += held.bytes;
    if (place === 'run') void this.#run(held);
    else this.#stopLooking ??= this.#clock.every(LOOK_EVERY_MS, () => this.#lookForLate());
  }

  #withSpan(span: Span): SendContext {
    if (span.traceparent === null) return this.#options;
    const resending: SendContext['resending'] = (message, attempt) => {
      span.note('sent again', { attempt });
      this.#options.resending(message, attempt);
    };
    return { ...this.#options, resending, traceparent: span.traceparent };
  }

  /** Resolves when no message is held. */
  async waitUntilEmpty(): Promise<void> {
    while (this.held > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #run(held: HeldMessage): Promise<void> {
    for (let next: HeldMessage | undefined = held; next;) {
      const running: HeldMessage = next;
      running.startedAt = this.#clock.now();
      const result = await running.delivery.run();
      void this.#finish(running, result);
      // A sent message was built, which proves its claim. Postgres may have lost the claim of any other, also of one that
      // failed before it was built, and would then put it before the later ones again.
      if (result.kind !== 'sent') this.#returnLater((_, other) => other === running);
      next = this.#queue.finish(running.delivery.message.conversation_id);
    }
  }

  /** Returns waiting messages, except those that may have left. @returns whether there were any */
  #returnLater(isWanted: (waiting: HeldMessage, running: HeldMessage) => boolean): boolean {
    const later = this.#queue.withdraw(
      (waiting, running) => !waiting.delivery.attempted && isWanted(waiting, running),
    );
    for (const held of later) void this.#finish(held, { kind: 'returned' });
    return later.length > 0;
  }

  /** Messages that were claimed behind one that was late already stay: the first of them would be claimed again at once. */
  #lookForLate(): void {
    const now = this.#clock.now();
    const areReturned = this.#returnLater(
      ({ claimedAt }, { startedAt }) => now - startedAt >= LATE_MS && claimedAt - startedAt < LATE_MS,
    );
    if (areReturned) this.#followerPause.begin(now);
    if (this.#queue.hasWaiting) return;
    this.#stopLooking?.();
    this.#stopLooking = null;
  }

  async #finish(held: HeldMessage, result: SendResult): Promise<void> {
    held.isUnsent = result.kind !== 'sent';
    // The call in progress may claim the message, or a claim may return it meanwhile.
    if (!held.isClaimed) await held.storing?.catch(() => false);
    if (!held.isClaimed) return this.#leaveToClaims(held);
    this.#options.finished(result.kind, this.#clock.now() - held.claimedAt);
    held.span.set({ 'gwk.result': result.kind });
    held.span.end(result.kind === 'failed' ? result.error.code : null);
    const { claimId } = held;
    const outcome = toOutcome(held, result);
    // A returned message can be claimed again at once, even by this engine, and must not be taken for a copy.
    if (outcome?.kind === 'returned') {
      this.#forget(held);
      if (!held.delivery.attempted) this.#options.returned();
    }
    try {
      let waiting = outcome ? await this.#report(outcome) : true;
      // It was claimed again while the outcome of its lost claim was on the way, which the API then ignored.
      if (held.claimId !== claimId) {
        this.#forget(held);
        waiting = await this.#report(returnOf(held));
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
    held.span.end(null);
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
    if (this.#queue.get(held.delivery.message.message_id) !== held) return;
    this.#queue.forget(held.delivery.message.message_id);
    this.#bytes -= held.bytes;
    if (this.held === 0) for (const resume of this.#idle.splice(0)) resume();
  }
}

/** A claim adds these facts; a new text has no others. */
const UNCLAIMED = {
  interactive_mode: 'native',
  quoted: null,
  built: null,
  rendered_as: null,
  attempted_at: null,
} as const;

function withClaim(built: BuiltMessageRecord, { claimId, delivery }: HeldMessage): BuiltMessageRecord {
  const { timer } = delivery.message;
  return { ...built, claim: { claim_id: claimId, ...(timer && { timer }) } };
}

/** Spans the time from the claim to the result, including lookups and uploads. */
function startSpan({ message_id, type, traceparent }: ClaimedMessage): Span {
  if (traceparent === undefined) return tracing.child('send', null);
  const attributes = { 'gwk.message.id': toPublicId('message', message_id), 'gwk.message.type': type };
  return tracing.child('send', traceparent, { kind: 'client', attributes });
}

/** Undefined when nothing is to be reported. */
function toOutcome(held: HeldMessage, result: SendResult): Outcome | undefined {
  const { message_id } = held.delivery.message;
  const { traceparent } = held.span;
  switch (result.kind) {
    case 'sent':
    case 'failed':
      return { ...result, message_id, ...(traceparent !== null && { traceparent }) };
    case 'returned':
      // A message that was ever written to the socket, by any engine, is kept instead.
      return { ...returnOf(held), unsent: true };
    case 'dropped':
      // If Postgres had lost its claim, this engine may have claimed it again.
      return returnOf(held);
    case 'kept':
      return undefined;
  }
}

/** A message that may have left stays unconfirmed. */
function returnOf({ delivery, claimId }: HeldMessage): Extract<Outcome, { kind: 'returned' }> {
  return { kind: 'returned', message_id: delivery.message.message_id, claim_id: claimId };
}
