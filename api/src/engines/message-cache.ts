import type { MessageRow } from '../messages/apply-status.js';

const REMEMBER_MS = 15_000;
const MAX_ENTRIES = 20_000;

interface Known {
  row: MessageRow;
  at: number;
}

/**
 * Cache of message facts for 15 s: reports that a message was sent, delivered and read arrive within seconds, mostly at the
 * process that the message was claimed from, which then need not read it again.
 *
 * An entry may be stale. Every change increments the version of a message, and an update applies only to the version that it
 * was decided on; otherwise it is decided again on fresh facts. Only the contact's name has no version: after a merge of
 * contacts, events may show the former name for 15 s.
 */
export class MessageCache {
  /** Oldest first. */
  readonly #byId = new Map<string, Known>();
  readonly #idOf = new Map<string, string>();

  constructor(private readonly now = (): number => performance.now()) {}

  remember(row: MessageRow): void {
    this.forget(row.id);
    const at = this.now();
    for (const [id, known] of this.#byId) {
      if (this.#byId.size < MAX_ENTRIES && at - known.at < REMEMBER_MS) break;
      this.forget(id);
    }
    this.#byId.set(row.id, { row, at });
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
    const age = this.now() - known.at;
    if (age >= REMEMBER_MS) return undefined;
    return { ...known.row, now: new Date(known.row.now.getTime() + age) };
  }

  forget(messageId: string): void {
    const known = this.#byId.get(messageId);
    if (!known) return;
    this.#byId.delete(messageId);
    const { instanceId, waMessageId } = known.row;
    if (waMessageId !== null) this.#idOf.delete(nameOf(instanceId, waMessageId));
  }
}

const nameOf = (instanceId: string, waMessageId: string): string => `${instanceId} ${waMessageId}`;
