import { failpoint } from '@gwk/core/failpoints';
import type { Logger } from '@gwk/core/log';
import type { proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import type { Journal, JournalEntry } from './journal.js';
import { KeyedLock } from '@gwk/core/async/keyed-lock';
import { getConversationKey } from './queue/ordered-intake.js';
import {
  buildEnvelope,
  decodeEnvelope,
  decodePeerMessage,
  type Envelope,
  type OwnIds,
} from './normalise/envelope.js';
import { parseContent } from './normalise/content.js';
import {
  decryptEdit,
  decryptVote,
  findEncryptedEditTarget,
  listAuthorIds,
} from './normalise/encrypted-replies.js';
import type { MessageSecrets } from './normalise/message-secrets.js';
import { parseResentMessages, type MissingMessages } from './missing/missing-messages.js';

interface InboxOptions {
  journal: Journal;
  secrets: MessageSecrets;
  missing: MissingMessages;
  log: Logger;
  getOwnIds: () => OwnIds;
  /** Private identity key of the device. */
  getIdentityKey: () => Uint8Array;
  /** Finds the other id of a contact, if it is known. */
  findOtherId: (jid: string) => Promise<string | null>;
  /** Sends the file of a message to the API; undefined when it has none. */
  storeFile: (envelope: Envelope) => Promise<InboundMessage['media']>;
  /** Resolves once the message is stored. */
  deliver: (message: InboundMessage) => Promise<void>;
}

/**
 * Delivers journal entries to the API, each conversation in order. An entry is settled once the API has stored the
 * message. The next engine delivers entries that are not settled again, and the API recognises duplicates.
 */
export class Inbox {
  readonly #options: InboxOptions;
  readonly #chats = new KeyedLock();
  readonly #working = new Set<Promise<void>>();

  constructor(options: InboxOptions) {
    this.#options = options;
  }

  enqueue(name: string, entry: JournalEntry): void {
    const work = this.#chats
      .run(getConversationKey(entry.attrs), () => this.#deliver(entry))
      .then(
        () => this.#options.journal.settle(name),
        (error: unknown) => this.#options.log.error({ err: error }, 'received message stays in the journal'),
      )
      .finally(() => this.#working.delete(work));
    this.#working.add(work);
  }

  /** Resolves once the API has every received message. */
  async waitUntilEmpty(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  async #deliver(entry: JournalEntry): Promise<void> {
    for (const envelope of await this.#decode(entry)) await this.#deliverOne(envelope);
  }

  async #deliverOne(decoded: Envelope): Promise<void> {
    const { secrets, missing, findOtherId, deliver } = this.#options;
    const envelope = { ...decoded, alt: await findAlt(decoded, findOtherId) };
    const { from, id, secret } = envelope;
    const storedSecret = secret && secrets.add(from, id, secret);
    // Awaited below; a call in between may fail first.
    storedSecret?.catch(() => undefined);
    const message = await this.#normalise(envelope);
    if (message) {
      await deliver(message).catch((error: unknown) => {
        // The API would refuse it every time; the batch sender has logged it.
        if (!(error instanceof InternalApiRefusal)) throw error;
      });
      failpoint('engine.after-inbound');
    }
    await storedSecret;
    await missing.forget(id);
  }

  /** Senders choose the bytes. A message that cannot be decoded is dropped, because it would fail every time. */
  async #decode(entry: JournalEntry): Promise<Envelope[]> {
    const own = this.#options.getOwnIds();
    try {
      const peerMessage = decodePeerMessage(entry, own);
      const envelopes = peerMessage
        ? await this.#decodeResent(peerMessage, own)
        : [decodeEnvelope(entry, own)];
      return envelopes.filter((envelope) => envelope !== null);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'received message could not be decoded');
      return [];
    }
  }

  /** Uses the network's original attributes where they are known. The phone leaves out LIDs and names. */
  #decodeResent(peerMessage: proto.IMessage, own: OwnIds): Promise<(Envelope | null)[]> {
    return Promise.all(
      parseResentMessages(peerMessage, own.jid).map(async ({ attrs, message }) => {
        const known = await this.#options.missing.findAttrs(attrs['id']!);
        return buildEnvelope(known ?? attrs, message, own);
      }),
    );
  }

  async #normalise(envelope: Envelope): Promise<InboundMessage | null> {
    const { getOwnIds, getIdentityKey, storeFile } = this.#options;
    const base = {
      wa_message_id: envelope.id.slice(0, 200),
      chat: envelope.chat,
      from: envelope.from,
      alt: envelope.alt,
      from_name: envelope.fromMe ? null : envelope.name,
      from_me: envelope.fromMe,
      at: envelope.at.toISOString(),
    };
    if (envelope.message.pollUpdateMessage) {
      const vote = decryptVote(envelope, getOwnIds(), getIdentityKey());
      return vote && { ...base, type: 'poll', text: null, quoted_wa_message_id: null, vote };
    }
    const content = parseContent((await this.#decryptEdit(envelope)) ?? envelope.message);
    if (!content) return null;
    const file = content.change ? undefined : await storeFile(envelope);
    return { ...base, ...content, ...(file && { media: file }) };
  }

  /** Null when nothing is encrypted or the edit cannot be decrypted. */
  async #decryptEdit(envelope: Envelope): Promise<proto.IMessage | null> {
    const target = findEncryptedEditTarget(envelope.message);
    if (target === undefined) return null;
    const names = listAuthorIds(envelope, this.#options.getOwnIds());
    const secret = await this.#options.secrets.find(names, target);
    const edit = secret && decryptEdit(envelope.message, names, secret);
    if (!edit) this.#options.log.warn({ wa_message_id: target }, 'edit could not be decrypted');
    return edit;
  }
}

/** The id that the network states, else the one that is stored. */
async function findAlt(envelope: Envelope, otherName: InboxOptions['findOtherId']): Promise<string | null> {
  const { alt, chat, from, fromMe, isGroup } = envelope;
  if (alt !== null) return alt;
  if (isGroup && fromMe) return null;
  return otherName(isGroup ? from : chat);
}
