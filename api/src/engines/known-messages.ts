import type { FactsRow } from '../messages/apply-status.js';

/**
 * What messages were when this process last read or changed them, for a short while: that a message was sent, delivered
 * and read is told within seconds, mostly to the process that gave it to its engine, and is decided on what is known of
 * it without asking for it again.
 *
 * A memory may be old: whatever changes a message counts its version, a change is made to the version that it was decided
 * on, and one that is not made is decided again on what is read then. So a memory saves a statement and decides nothing.
 * Only the name of its contact has no version: one that has just been found to be another's is told under its former
 * name for as long as a memory lasts.
 */
const REMEMBER_MS = 15_000;
const MAX_KNOWN = 20_000;

interface Known {
  row: FactsRow;
  at: number;
}

export class KnownMessages {
  /** The oldest first. */
  readonly #byId = new Map<string, Known>();
  readonly #idOf = new Map<string, string>();

  constructor(private readonly now = (): number => performance.now()) {}

  remember(row: FactsRow): void {
    this.forget(row.message_id);
    const at = this.now();
    for (const [id, known] of this.#byId) {
      if (this.#byId.size < MAX_KNOWN && at - known.at < REMEMBER_MS) break;
      this.forget(id);
    }
    this.#byId.set(row.message_id, { row, at });
    if (row.wa_message_id !== null)
      this.#idOf.set(nameOf(row.instance_id, row.wa_message_id), row.message_id);
  }

  /** Of an instance's own messages one, by our id or by the network's; `now` goes on by our clock. */
  recall(
    instanceId: string,
    named: { message_id: string } | { wa_message_id: string },
  ): FactsRow | undefined {
    const id =
      'message_id' in named ? named.message_id : this.#idOf.get(nameOf(instanceId, named.wa_message_id));
    const known = id === undefined ? undefined : this.#byId.get(id);
    if (!known || known.row.instance_id !== instanceId) return undefined;
    const age = this.now() - known.at;
    if (age >= REMEMBER_MS) return undefined;
    return { ...known.row, now: new Date(known.row.now.getTime() + age) };
  }

  forget(messageId: string): void {
    const known = this.#byId.get(messageId);
    if (!known) return;
    this.#byId.delete(messageId);
    const { instance_id, wa_message_id } = known.row;
    if (wa_message_id !== null) this.#idOf.delete(nameOf(instance_id, wa_message_id));
  }
}

const nameOf = (instanceId: string, waMessageId: string): string => `${instanceId} ${waMessageId}`;
