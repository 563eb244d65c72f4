import { isJidGroup, jidDecode, type BinaryNode, type proto, type WASocket } from '@whiskeysockets/baileys';
import { RateLimiter } from '../../rate-limiter.js';
import { ExpiringMap } from '../../expiring-map.js';
import { getSender } from '../decrypt/undecryptable.js';

/** What was asked for: a message of ours, by its id, in the chat that the request came from. */
export interface RequestedMessage {
  id: string;
  chat: string;
}

export interface RetryRequestOptions {
  isOwn: (jid: string) => boolean;
  /** As it left; undefined where no such message left to that chat. */
  findSent: (asked: RequestedMessage) => Promise<proto.IMessage | undefined>;
}

const MINUTE_MS = 60_000;
const CONTACT_LIMIT = { perKey: 60, total: 3_000, windowMs: MINUTE_MS };
/** A phone's request has a message sent to the whole group again. */
const GROUP_LIMIT = { perKey: 100, windowMs: 10 * MINUTE_MS };
const GROUP_MESSAGE_LIMIT = { perKey: 20, windowMs: 60 * MINUTE_MS };
/** Between the look-up here and that of Baileys. */
const FOUND = { max: 100, forMs: MINUTE_MS };

type Listener = (node: BinaryNode) => unknown;

/**
 * Requests to send a message again, which anybody can make who knows how. As it comes, Baileys goes through all ids that
 * one lists, looks each up by its id alone, and begins a session anew with whoever asks before it knows whether there is
 * anything to be sent. So:
 * - a request is for one message, the one that it names; what it lists beside is left out, as apps list nothing;
 * - nothing is done before it is known that this message left to the chat that the request came from;
 * - there are bounds for each contact (all devices together), for all, and for each group.
 * All of them are acknowledged: the network would bring them again.
 */
export class RetryRequests {
  readonly #options: RetryRequestOptions;
  readonly #perContact = new RateLimiter(CONTACT_LIMIT);
  readonly #perGroup = new RateLimiter(GROUP_LIMIT);
  readonly #perGroupMessage = new RateLimiter(GROUP_MESSAGE_LIMIT);
  readonly #found = new ExpiringMap<proto.IMessage>(FOUND);

  constructor(options: RetryRequestOptions) {
    this.#options = options;
  }

  /** To stand before what Baileys does with them. */
  screen({ ws, sendMessageAck }: Pick<WASocket, 'ws' | 'sendMessageAck'>): void {
    const name = 'CB:receipt';
    const takers = ws.listeners(name) as Listener[];
    ws.removeAllListeners(name);
    const pass = (node: BinaryNode): void => {
      for (const take of takers) take(node);
    };
    ws.on(name, (node: BinaryNode) => {
      if (node.attrs['type'] !== 'retry') return pass(node);
      this.#isAllowed(node)
        .catch(() => false)
        .then((may) => (may ? pass(withoutList(node)) : sendMessageAck(node)))
        // The connection is over: it comes again with the next.
        .catch(() => undefined);
    });
  }

  /** Baileys' `getMessage`. */
  async getMessage({ id, remoteJid }: proto.IMessageKey): Promise<proto.IMessage | undefined> {
    return id && remoteJid ? this.#findSent({ id, chat: remoteJid }) : undefined;
  }

  async #isAllowed({ attrs }: BinaryNode): Promise<boolean> {
    const asked = this.#parseRequest(attrs);
    if (!asked || !this.#perContact.take(getSender(attrs))) return false;
    if (!(await this.#findSent(asked))) return false;
    if (!isJidGroup(asked.chat) || jidDecode(attrs['participant'])?.device) return true;
    return this.#perGroupMessage.take(`${asked.chat} ${asked.id}`) && this.#perGroup.take(asked.chat);
  }

  /** Of what Baileys makes of it: where it came from, or for an own device the chat that it names. */
  #parseRequest({ id, from, participant, recipient }: BinaryNode['attrs']): RequestedMessage | null {
    if (!id || !from) return null;
    const chat = isJidGroup(from) || !this.#options.isOwn(participant ?? from) ? from : recipient;
    return chat ? { id, chat } : null;
  }

  async #findSent(asked: RequestedMessage): Promise<proto.IMessage | undefined> {
    const name = `${asked.chat} ${asked.id}`;
    const found = this.#found.get(name) ?? (await this.#options.findSent(asked));
    if (found) this.#found.set(name, found);
    return found;
  }
}

function withoutList({ content, ...node }: BinaryNode): BinaryNode {
  return { ...node, content: Array.isArray(content) ? content.filter(({ tag }) => tag !== 'list') : content };
}
