import { failpoint } from '@gwk/core/process/failpoints';
import type { Logger } from '@gwk/core/process/log';
import { type proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import type { Journal, JournalEntry } from './journal.js';
import { encodeCard } from '../quoted-card.js';
import { KeyedLock } from '@gwk/core/async/keyed-lock';
import { getConversationKey } from './queue/ordered-intake.js';
import {
  buildEnvelope,
  buildUnreadEnvelope,
  decodeEnvelope,
  decodePeerMessage,
  type Envelope,
  type OwnIds,
} from './normalise/envelope.js';
import { parseContent } from './normalise/content.js';
import { findTargetAuthor } from './normalise/target-author.js';
import { findUnread } from './normalise/kinds.js';
import { unwrapMessage } from './normalise/unwrap.js';
import {
  decryptEdit,
  decryptVote,
  findEncryptedEditTarget,
  findOwnPoll,
  listAuthorIds,
} from './normalise/encrypted-replies.js';
import { deriveMessageSecret } from '../send/build.js';
import { isTimerNotice, readTimer } from './normalise/timer.js';
import type { MessageSecrets } from './normalise/message-secrets.js';
import { parseResentMessages, type MissingMessages } from './missing/missing-messages.js';
import { normaliseJid } from '../stanza-attrs.js';

interface InboxOptions {
  journal: Journal;
  secrets: MessageSecrets;
  missing: MissingMessages;
  log: Logger;
  getOwnIds: () => OwnIds;
  /** Private identity key of the device. */
  getIdentityKey: () => Uint8Array;
  /** Reads the stored secret of a sent poll. */
  readPollSecret: (waMessageId: string) => Promise<Uint8Array | null>;
  /** Finds the other id of a contact, if it is known. */
  findOtherId: (jid: string) => Promise<string | null>;
  /** Sends the file of a message to the API; undefined when it has none. */
  storeFile: (envelope: Envelope) => Promise<InboundMessage['media']>;
  /** Whether a member of a group is one of its admins. */
  isAdmin: (group: string, member: readonly string[]) => Promise<boolean>;
  /** Counts a message that has no effect. */
  countIgnored: (reason: IgnoredReason) => void;
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
    const { secrets, missing, findOtherId } = this.#options;
    const envelope = { ...decoded, alt: await findAlt(decoded, findOtherId) };
    const { from, id, secret } = envelope;
    const storedSecret = secret && secrets.add(from, id, secret);
    // Awaited below; a call in between may fail first.
    storedSecret?.catch(() => undefined);
    const message = await this.#normaliseOrUnknown(envelope);
    if (message) {
      await this.#deliverAccepted(message);
      failpoint('engine.after-inbound');
    }
    await storedSecret;
    await missing.forget(id, listAuthorIds(envelope, this.#options.getOwnIds()));
  }

  /** Senders choose the bytes. A message that cannot be decoded is reported as unknown, because it would fail every time. */
  async #decode(entry: JournalEntry): Promise<Envelope[]> {
    const own = this.#options.getOwnIds();
    try {
      const peerMessage = decodePeerMessage(entry, own);
      const envelopes = peerMessage
        ? await this.#decodeResent(peerMessage, own)
        : [decodeEnvelope(entry, own)];
      if (envelopes.includes(null)) this.#options.countIgnored('no_conversation');
      return envelopes.filter((envelope) => envelope !== null);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'received message could not be decoded');
      const unread = entry.attrs['category'] === 'peer' ? null : buildUnreadEnvelope(entry.attrs, own);
      if (unread === null) this.#options.countIgnored('undecodable');
      return unread ? [unread] : [];
    }
  }

  /** Uses the network's original attributes where they are known. The phone leaves out LIDs and names. */
  #decodeResent(peerMessage: proto.IMessage, own: OwnIds): Promise<(Envelope | null)[]> {
    return Promise.all(
      parseResentMessages(peerMessage, own.jid).map(async ({ attrs, message }) => {
        const known = await this.#options.missing.findAttrs(attrs['id']!);
        return buildEnvelope(known ?? attrs, unwrapMessage(message), own);
      }),
    );
  }

  async #normalise(envelope: Envelope): Promise<InboundMessage | null> {
    const { getOwnIds } = this.#options;
    const base = describeEnvelope(envelope);
    const { message } = envelope.content;
    if (isTimerNotice(message)) {
      const notice = { type: 'other', text: null, quoted_wa_message_id: null, is_timer_only: true } as const;
      return base.timer ? { ...base, ...notice } : null;
    }
    const vote = message.pollUpdateMessage && (await this.#decryptVote(envelope));
    if (vote) return { ...base, type: 'poll', text: null, quoted_wa_message_id: null, vote };
    const edit = await this.#decryptEdit(envelope);
    const content = parseContent(edit ? { ...envelope.content, message: edit } : envelope.content, {
      ...envelope,
      own: getOwnIds(),
    });
    if (!content) return this.#ignore(envelope);
    if (content.change) {
      const author = findTargetAuthor(edit ?? message, envelope, getOwnIds());
      const change = await this.#judge(envelope, content.change);
      return { ...base, ...content, change: author ? { ...change, author } : change };
    }
    return this.#addFile(envelope, { ...base, ...content });
  }

  /** Senders choose the content, which must not keep the message in the journal. */
  async #normaliseOrUnknown(envelope: Envelope): Promise<InboundMessage | null> {
    try {
      return await this.#normalise(envelope);
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
      this.#options.log.warn({ err: error }, 'received message could not be parsed');
      return toUnknown(describeEnvelope(envelope));
    }
  }

  /**
   * The API would refuse the same message every time, and the batch sender has logged it. So less of it is reported: first
   * without the content, then without the names.
   */
  async #deliverAccepted(message: InboundMessage): Promise<void> {
    for (const form of [message, toUnknown(message), toUnknown(message, { isNamed: false })]) {
      try {
        return await this.#options.deliver(form);
      } catch (error) {
        if (!(error instanceof InternalApiRefusal)) throw error;
      }
    }
    this.#options.countIgnored('refused');
  }

  async #addFile(envelope: Envelope, message: InboundMessage): Promise<InboundMessage> {
    const file = await this.#options.storeFile(envelope);
    const card = encodeCard(envelope.content.message);
    return {
      ...message,
      ...(file && { media: file }),
      ...(card && { card: card.toString('base64') }),
    };
  }

  /** Messages between apps are no loss. */
  #ignore({ id, content }: Envelope): null {
    const reason = findUnread(content.message);
    if (reason === null) return null;
    this.#options.countIgnored(reason);
    this.#options.log.info({ wa_message_id: id.slice(0, 200), reason }, 'received message ignored');
    return null;
  }

  /** Marks the deletion of a message of others by an admin. Its key names the author. */
  async #judge(
    { chat, from, alt, fromMe, isGroup, content }: Envelope,
    change: MessageChange,
  ): Promise<MessageChange> {
    if (change.kind !== 'delete' || !isGroup || fromMe) return change;
    const key = content.message.protocolMessage?.key;
    const ids = [from, alt].filter((id) => id !== null);
    const isOwn = key?.participant ? ids.includes(normaliseJid(key.participant)) : key?.fromMe;
    return !isOwn && (await this.#options.isAdmin(chat, ids)) ? { ...change, by_admin: true } : change;
  }

  /**
   * The secret of a poll derives from the key of the device. That of a poll from before the device was linked again, or
   * of an earlier release, is stored. Null when neither fits.
   */
  async #decryptVote(envelope: Envelope): Promise<InboundMessage['vote'] | null> {
    const { getOwnIds, getIdentityKey, readPollSecret } = this.#options;
    const own = getOwnIds();
    const id = findOwnPoll(envelope, own);
    if (id === null) return null;
    const vote = decryptVote(envelope, own, deriveMessageSecret(id, getIdentityKey()));
    if (vote) return vote;
    const stored = await readPollSecret(id);
    return stored && decryptVote(envelope, own, stored);
  }

  /** Null when nothing is encrypted or the edit cannot be decrypted. */
  async #decryptEdit(envelope: Envelope): Promise<proto.IMessage | null> {
    const { message } = envelope.content;
    const target = findEncryptedEditTarget(message);
    if (target === undefined) return null;
    const names = listAuthorIds(envelope, this.#options.getOwnIds());
    const secret = await this.#options.secrets.find(names, target);
    return secret && decryptEdit(message, names, secret);
  }
}

/** The fields that messages of all types have. */
function describeEnvelope(envelope: Envelope) {
  const timer = readTimer({ ...envelope, message: envelope.content.message });
  return {
    wa_message_id: envelope.id.slice(0, 200),
    chat: envelope.chat,
    from: envelope.from,
    alt: envelope.alt,
    ...(envelope.list !== undefined && { list: envelope.list }),
    from_name: envelope.fromMe ? null : envelope.name,
    ...(envelope.username !== null && { username: envelope.username }),
    from_me: envelope.fromMe,
    at: envelope.at.toISOString(),
    ...(timer && { timer }),
  };
}

type Described = Omit<InboundMessage, 'type' | 'text' | 'quoted_wa_message_id'> & { text?: string | null };

/** A message of which only the id, the place and the text are reported, and the names of its sender. */
function toUnknown(
  { wa_message_id, chat, from, from_me, at, list, alt, username, from_name, text = null }: Described,
  { isNamed } = { isNamed: true },
): InboundMessage {
  const place = { wa_message_id, chat, from, from_me, at, ...(list && { list }) };
  const names = { ...(alt && { alt }), ...(username && { username }) };
  const shown = { from_name: isNamed ? from_name : null, ...(isNamed && names) };
  return { ...place, ...shown, type: 'other', kind: 'unknown', text, quoted_wa_message_id: null };
}

type MessageChange = NonNullable<InboundMessage['change']>;

/** Reasons why a received message has no effect. */
export type IgnoredReason =
  'no_conversation' | 'undecodable' | 'unread_edit' | 'unread_reaction' | 'unread_vote' | 'refused';

/** The id that the network states, else the one that is stored. */
async function findAlt(envelope: Envelope, otherName: InboxOptions['findOtherId']): Promise<string | null> {
  const { alt, chat, from, fromMe, isGroup } = envelope;
  if (alt !== null) return alt;
  if (isGroup && fromMe) return null;
  return otherName(isGroup ? from : chat);
}
