import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { Clock } from '@gwk/core/clock';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import type { NotifiedMessage } from '@gwk/core/protocol/notified-messages';
import type { Sender } from '../sender.js';

const TIMERS = { max: 1_000, ttlMs: 24 * 3_600_000 };
/** Longer than the engine accepts messages of notifications. */
const FORMER = { max: 1_000, ttlMs: 120_000 };

/** A claim adds these facts; a new text has no others. */
const UNCLAIMED = {
  interactive_mode: 'native',
  quoted: null,
  built: null,
  rendered_as: null,
  attempted_at: null,
} as const;

/** New texts that come with their notification, and are built without a claim before. */
export class NotifiedTexts {
  readonly #sender: Pick<Sender, 'isHeld' | 'findLastHeld' | 'hold'>;
  /** By conversation: the timer of disappearing messages in the last claim. Notifications do not have it. */
  readonly #timers: ExpiringMap<NonNullable<ClaimedMessage['timer']>>;
  /** Messages that were claimed or built from their notification, so that a late or repeated one has no effect. */
  readonly #former: ExpiringMap<true>;

  constructor(sender: Pick<Sender, 'isHeld' | 'findLastHeld' | 'hold'>, clock: Clock) {
    this.#sender = sender;
    this.#timers = new ExpiringMap(TIMERS, () => clock.now());
    this.#former = new ExpiringMap(FORMER, () => clock.now());
  }

  recordClaim(messages: readonly ClaimedMessage[]): void {
    for (const { message_id, conversation_id, timer } of messages) {
      this.#former.set(message_id, true);
      if (timer) this.#timers.set(conversation_id, timer);
      else this.#timers.delete(conversation_id);
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
  decide(messages: readonly NotifiedMessage[]): 'build' | 'wait' | 'nothing' | 'claim' {
    const former = messages.filter(
      ({ message_id }) => this.#sender.isHeld(message_id) || this.#former.get(message_id),
    );
    if (former.length > 0) return former.length === messages.length ? 'nothing' : 'claim';
    const conversations = new Set(messages.map(({ conversation_id }) => conversation_id));
    const lastHeld = this.#sender.findLastHeld(conversations);
    if (lastHeld.length === 0) return 'build';
    if (lastHeld.length < conversations.size) return 'claim';
    for (const held of lastHeld) held.hasNext = true;
    return 'wait';
  }

  /**
   * Builds messages that came with their notification. The call that stores what was built claims them.
   * @param entry of the notification, to be kept until the last one of them is settled
   */
  build(messages: readonly NotifiedMessage[], entry: string): void {
    messages.forEach((notified, index) => {
      const timer = this.#timers.get(notified.conversation_id);
      this.#former.set(notified.message_id, true);
      const notification = index === messages.length - 1 ? entry : undefined;
      this.#sender.hold({ ...UNCLAIMED, ...notified, ...(timer && { timer }) }, notification);
    });
  }
}
