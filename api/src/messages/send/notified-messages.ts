import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { encodeNotified, type NotifiedMessage } from '@gwk/core/protocol/notified-messages';
import { toAddress } from '@gwk/core/ids/recipients';
import type { Database } from '../../database/database.js';
import { openCommandKey } from '../../engine-commands/commands.js';
import type { WriteEntry } from './write.js';

const KEYS = { max: 10_000, ttlMs: 600_000 };
/** After a failure, so that each notification of a recovering Postgres does not read again. */
const READ_AGAIN_MS = 10_000;

/** Encrypts new messages for the notifications of engines, with the command keys of their instances. */
export class NotifiedMessages {
  readonly #database: Pick<Database, 'instance'>;
  readonly #sealer: Sealer;
  /** By instance; null while it is read. */
  readonly #keys = new ExpiringMap<Buffer | null>(KEYS);

  constructor(database: Pick<Database, 'instance'>, sealer: Sealer) {
    this.#database = database;
    this.#sealer = sealer;
  }

  /**
   * @param entries all new messages of an instance, without scheduled ones
   * @param traceparents those of their acceptance
   * @returns null if the engine must claim them
   */
  encrypt(entries: readonly WriteEntry[], traceparents: readonly (string | null)[]): string | null {
    const { messageId, request } = entries[0]!;
    if (!entries.every(isText) || !haveOwnConversations(entries)) return null;
    const key = this.#keys.get(request.instanceId);
    if (key === undefined) void this.#readKey(request.instanceId);
    if (!key) return null;
    const messages = entries.map((entry, index) => toNotified(entry, traceparents[index] ?? null));
    return encodeNotified(messages, messageId, key);
  }

  async #readKey(id: string): Promise<void> {
    this.#keys.set(id, null);
    try {
      const select = { commandKeySealed: true };
      const row = await this.#database.instance.findUniqueOrThrow({ where: { id }, select });
      this.#keys.set(id, openCommandKey(this.#sealer, id, row.commandKeySealed));
    } catch {
      // Engines claim meanwhile.
      setTimeout(() => this.#keys.delete(id), READ_AGAIN_MS).unref();
    }
  }
}

/** Text alone. Other messages need facts that only a claim reads: a quoted message, a file, the mode of menus. */
const isText = ({ request: { draft } }: WriteEntry): boolean =>
  draft.type === 'text' && draft.prepared && draft.replyTo === null;

/** Only the first message of a conversation can be claimed. */
const haveOwnConversations = (entries: readonly WriteEntry[]): boolean =>
  new Set(entries.map(({ plan }) => plan.conversationId)).size === entries.length;

function toNotified(
  { messageId, waMessageId, plan, request }: WriteEntry,
  traceparent: string | null,
): NotifiedMessage {
  const { recipient, type, content } = request.draft;
  return {
    message_id: messageId,
    conversation_id: plan.conversationId,
    chat: toAddress(recipient),
    wa_message_id: waMessageId,
    type,
    content: JSON.stringify(content),
    ...(traceparent !== null && { traceparent }),
  };
}
