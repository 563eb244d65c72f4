import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { MessageRow } from '../message-status/apply-status.js';

const LIMITS = { max: 20_000, ttlMs: 15_000 };

/**
 * Cache of message facts for 15 s: reports that a message was sent, delivered and read arrive within seconds, mostly at the
 * process that the message was claimed from, which then need not read it again.
 *
 * An entry may be stale. Every change increments the version of a message, and an update applies only to the version that it
 * was decided on; otherwise it is decided again on fresh facts. Only the contact's name has no version: after a merge of
 * contacts, events may show the former name for 15 s.
 */
export class MessageCache {
  readonly #byId: ExpiringMap<{ row: MessageRow; at: number }>;
  readonly #idOf: ExpiringMap<string>;

  constructor(private readonly now = (): number => performance.now()) {
    this.#byId = new ExpiringMap(LIMITS, now);
    this.#idOf = new ExpiringMap(LIMITS, now);
  }

  remember(row: MessageRow): void {
    this.#byId.set(row.id, { row, at: this.now() });
    if (row.waMessageId !== null) this.#idOf.set(nameOf(row.instanceId, row.waMessageId), row.id);
  }

  /** Finds a message of the instance by its id or its network id. `now` of the result advances with the monotonic clock. */
  recall(
    instanceId: string,
    named: { message_id: string } | { wa_message_id: string },
  ): MessageRow | undefined {
    const id =
      'message_id' in named ? named.message_id : this.#idOf.get(nameOf(instanceId, named.wa_message_id));
    const known = id === undefined ? undefined : this.#byId.get(id);
    if (!known || known.row.instanceId !== instanceId) return undefined;
    return { ...known.row, now: new Date(known.row.now.getTime() + this.now() - known.at) };
  }

  forget(messageId: string): void {
    this.#byId.delete(messageId);
  }
}

const nameOf = (instanceId: string, waMessageId: string): string => `${instanceId} ${waMessageId}`;
