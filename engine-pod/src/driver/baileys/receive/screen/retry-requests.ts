import { isJidGroup, jidDecode, type BinaryNode, type proto, type WASocket } from '@whiskeysockets/baileys';
import { interceptEvent } from '../../patches/socket-internals.js';
import { RateLimiter } from '../../rate-limiter.js';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import { getSender } from '../decrypt/undecryptable.js';

/** A request for a message of ours: its id, and the chat that the request came from. */
export interface RequestedMessage {
  id: string;
  chat: string;
}

export interface RetryRequestOptions {
  isOwn: (jid: string) => boolean;
  /** A message as it was sent; undefined when none was sent to that chat under that id. */
  findSent: (requested: RequestedMessage) => Promise<proto.IMessage | undefined>;
}

const MINUTE_MS = 60_000;
const CONTACT_LIMIT = { perKey: 60, total: 3_000, windowMs: MINUTE_MS };
/** A request from a phone makes Baileys resend the message to the whole group. */
const GROUP_LIMIT = { perKey: 100, windowMs: 10 * MINUTE_MS };
const GROUP_MESSAGE_LIMIT = { perKey: 20, windowMs: 60 * MINUTE_MS };
/** Keeps a message from this lookup until Baileys' own lookup. */
const FOUND = { max: 100, ttlMs: MINUTE_MS };

/**
 * Screens requests to resend a message, which anybody can send:
 * - A request counts for the one message that it names.
 * - The message must have been sent to the chat that the request came from, before anything else happens.
 * - Requests are limited per contact (all devices together), in total, and per group.
 *
 * All requests are acknowledged; otherwise the network would send them again.
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

  /** Runs before Baileys' own listener. */
  screen(socket: Pick<WASocket, 'ws' | 'sendMessageAck'>): void {
    interceptEvent(socket, 'CB:receipt', (node: BinaryNode, pass) => {
      if (node.attrs['type'] !== 'retry') return void pass(node);
      this.#isAllowed(node)
        .catch(() => false)
        .then((may): unknown => (may ? pass(withoutList(node)) : socket.sendMessageAck(node)))
        // The connection has ended. The request comes again with the next one.
        .catch(() => undefined);
    });
  }

  /** Implements Baileys' `getMessage`. */
  async getMessage({ id, remoteJid }: proto.IMessageKey): Promise<proto.IMessage | undefined> {
    return id && remoteJid ? this.#findSent({ id, chat: remoteJid }) : undefined;
  }

  async #isAllowed({ attrs }: BinaryNode): Promise<boolean> {
    const requested = this.#parseRequest(attrs);
    if (!requested || !this.#perContact.take(getSender(attrs))) return false;
    if (!(await this.#findSent(requested))) return false;
    if (!isJidGroup(requested.chat) || jidDecode(attrs['participant'])?.device) return true;
    return (
      this.#perGroupMessage.take(`${requested.chat} ${requested.id}`) && this.#perGroup.take(requested.chat)
    );
  }

  /** The chat as Baileys derives it: the origin, or for an own device the chat that the request names. */
  #parseRequest({ id, from, participant, recipient }: BinaryNode['attrs']): RequestedMessage | null {
    if (!id || !from) return null;
    const chat = isJidGroup(from) || !this.#options.isOwn(participant ?? from) ? from : recipient;
    return chat ? { id, chat } : null;
  }

  async #findSent(requested: RequestedMessage): Promise<proto.IMessage | undefined> {
    const name = `${requested.chat} ${requested.id}`;
    const found = this.#found.get(name) ?? (await this.#options.findSent(requested));
    if (found) this.#found.set(name, found);
    return found;
  }
}

function withoutList({ content, ...node }: BinaryNode): BinaryNode {
  return { ...node, content: Array.isArray(content) ? content.filter(({ tag }) => tag !== 'list') : content };
}
