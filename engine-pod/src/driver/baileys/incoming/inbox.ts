import { failpoint } from '@gwk/core/failpoints';
import type { Logger } from '@gwk/core/log';
import type { InboundMessage } from '@gwk/core/protocol/engine';
import { InternalRefusal } from '@gwk/core/protocol/internal-client';
import type { Journal, Journalled } from '../signal/journal.js';
import { Locks } from '../session/locks.js';
import { openEnvelope, type Envelope, type Own } from './envelope.js';
import { readContent } from './content/reading.js';
import { readVote } from './votes.js';

export interface InboxOptions {
  journal: Journal;
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
      .run(chatOf(entry), () => this.#deliver(entry))
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
    const envelope = this.#open(entry);
    const message = envelope && (await this.#read(envelope));
    if (!message) return;
    await this.#options.deliver(message).catch((error: unknown) => {
      // It would be refused for ever; the poster has said so.
      if (!(error instanceof InternalRefusal)) throw error;
    });
    failpoint('engine.after-inbound');
  }

  /** Whoever writes chooses the bytes: what cannot be read is nothing, and must not come again for ever. */
  #open(entry: Journalled): Envelope | null {
    try {
      return openEnvelope(entry, this.#options.own());
    } catch (error) {
      this.#options.log.warn({ err: error }, 'a message came that cannot be read');
      return null;
    }
  }

  async #read(envelope: Envelope): Promise<InboundMessage | null> {
    const { own, key, otherName, media } = this.#options;
    const named = { ...envelope, alt: await this.#altOf(envelope, otherName) };
    const base = {
      wa_message_id: named.id.slice(0, 200),
      chat: named.chat,
      from: named.from,
      alt: named.alt,
      from_name: named.fromMe ? null : named.name,
      from_me: named.fromMe,
      at: named.at.toISOString(),
    };
    if (named.message.pollUpdateMessage) {
      const vote = readVote(named, own(), key());
      return vote && { ...base, type: 'poll', text: null, quoted_wa_message_id: null, vote };
    }
    const said = readContent(named.message);
    if (!said) return null;
    const file = said.change ? undefined : await media(named);
    return { ...base, ...said, ...(file && { media: file }) };
  }

  /** As the network tells it, else as it is known from before. */
  async #altOf(envelope: Envelope, otherName: InboxOptions['otherName']): Promise<string | null> {
    const { alt, chat, from, fromMe, isGroup } = envelope;
    if (alt !== null) return alt;
    if (isGroup && fromMe) return null;
    return otherName(isGroup ? from : chat);
  }
}

/** What has to stay in order: the chat, by whichever side it was written. */
function chatOf({ attrs }: Journalled): string {
  return attrs['recipient'] ?? attrs['from'] ?? '';
}
