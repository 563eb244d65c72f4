import { failpoint } from '@gwk/core/failpoints';
import type { Logger } from '@gwk/core/log';
import type { proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/engine';
import { InternalRefusal } from '@gwk/core/protocol/internal-client';
import type { Journal, Journalled } from './journal.js';
import { Locks } from '../session/keyed-lock.js';
import { chatOf } from './queue/conversation.js';
import { envelopeOf, openEnvelope, openPeer, type Envelope, type Own } from './normalise/envelope.js';
import { readContent } from './normalise/content.js';
import { authorNames, openSealedEdit, sealedEditIn } from './normalise/encrypted-edits.js';
import type { MessageSecrets } from './normalise/message-secrets.js';
import { resentIn, type Unavailable } from './missing/missing-messages.js';
import { readVote } from './normalise/poll-votes.js';

export interface InboxOptions {
  journal: Journal;
  secrets: MessageSecrets;
  unavailable: Unavailable;
  log: Logger;
  own: () => Own;
  /** The private key of the device. */
  key: () => Uint8Array;
  /** The other id of a contact, where it is known. */
  otherName: (jid: string) => Promise<string | null>;
  /** Brings the file of a message to the API; undefined where it has none. */
  media: (envelope: Envelope) => Promise<InboundMessage['media']>;
  /** Resolves once stored. */
  deliver: (message: InboundMessage) => Promise<void>;
}

/**
 * From the journal to the API, each conversation in its order. An entry is settled once the API has it; what is not
 * when the engine ends is begun again by the next one, and the API tells a message that it has from a new one.
 */
export class Inbox {
  readonly #options: InboxOptions;
  readonly #chats = new Locks();
  readonly #working = new Set<Promise<void>>();

  constructor(options: InboxOptions) {
    this.#options = options;
  }

  take(name: string, entry: Journalled): void {
    const work = this.#chats
      .run(chatOf(entry.attrs), () => this.#deliver(entry))
      .then(
        () => this.#options.journal.settle(name),
        (error: unknown) =>
          this.#options.log.error({ err: error }, 'a received message stays in the journal'),
      )
      .finally(() => this.#working.delete(work));
    this.#working.add(work);
  }

  /** Resolves once the API has all that came. */
  async drained(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  async #deliver(entry: Journalled): Promise<void> {
    for (const envelope of await this.#open(entry)) await this.#deliverOne(envelope);
  }

  async #deliverOne(given: Envelope): Promise<void> {
    const { secrets, unavailable, otherName, deliver } = this.#options;
    const envelope = { ...given, alt: await altOf(given, otherName) };
    const { from, id, secret } = envelope;
    const kept = secret && secrets.keep(from, id, secret);
    // Awaited below; what stands in between may fail first.
    kept?.catch(() => undefined);
    const message = await this.#read(envelope);
    if (message) {
      await deliver(message).catch((error: unknown) => {
        // It would be refused for ever; the poster has said so.
        if (!(error instanceof InternalApiRefusal)) throw error;
      });
      failpoint('engine.after-inbound');
    }
    await kept;
    await unavailable.came(id);
  }

  /** Whoever writes chooses the bytes: what cannot be read is nothing, and must not come again for ever. */
  async #open(entry: Journalled): Promise<Envelope[]> {
    const own = this.#options.own();
    try {
      const said = openPeer(entry, own);
      const envelopes = said ? await this.#resent(said, own) : [openEnvelope(entry, own)];
      return envelopes.filter((envelope) => envelope !== null);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'a message came that cannot be read');
      return [];
    }
  }

  /** As the network named it at first, where it did: the phone leaves out hidden ids and names. */
  #resent(said: proto.IMessage, own: Own): Promise<(Envelope | null)[]> {
    return Promise.all(
      resentIn(said, own.jid).map(async ({ attrs, message }) => {
        const known = await this.#options.unavailable.attrsOf(attrs['id']!);
        return envelopeOf(known ?? attrs, message, own);
      }),
    );
  }

  async #read(envelope: Envelope): Promise<InboundMessage | null> {
    const { own, key, media } = this.#options;
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
      const vote = readVote(envelope, own(), key());
      return vote && { ...base, type: 'poll', text: null, quoted_wa_message_id: null, vote };
    }
    const said = readContent((await this.#openEdit(envelope)) ?? envelope.message);
    if (!said) return null;
    const file = said.change ? undefined : await media(envelope);
    return { ...base, ...said, ...(file && { media: file }) };
  }

  /** Null where nothing is sealed, or what is cannot be read. */
  async #openEdit(envelope: Envelope): Promise<proto.IMessage | null> {
    const target = sealedEditIn(envelope.message);
    if (target === undefined) return null;
    const names = authorNames(envelope, this.#options.own());
    const secret = await this.#options.secrets.find(names, target);
    const edit = secret && openSealedEdit(envelope.message, names, secret);
    if (!edit) this.#options.log.warn({ wa_message_id: target }, 'an edit came that cannot be read');
    return edit;
  }
}

/** As the network tells it, else as it is known from before. */
async function altOf(envelope: Envelope, otherName: InboxOptions['otherName']): Promise<string | null> {
  const { alt, chat, from, fromMe, isGroup } = envelope;
  if (alt !== null) return alt;
  if (isGroup && fromMe) return null;
  return otherName(isGroup ? from : chat);
}
