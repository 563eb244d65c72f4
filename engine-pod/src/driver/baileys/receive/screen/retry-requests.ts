import { isJidGroup, jidDecode, type BinaryNode, type proto, type WASocket } from '@whiskeysockets/baileys';
import { Allowance } from '../../rate-limiter.js';
import { Recent } from '../../expiring-map.js';
import { senderOf } from '../decrypt/undecryptable.js';

/** What was asked for: a message of ours, by its id, in the chat that the request came from. */
export interface Asked {
  id: string;
  chat: string;
}

export interface RequestOptions {
  own: (jid: string) => boolean;
  /** As it left; undefined where no such message left to that chat. */
  sent: (asked: Asked) => Promise<proto.IMessage | undefined>;
}

const MINUTE_MS = 60_000;
const REQUESTS = { ofOne: 60, ofAll: 3_000, windowMs: MINUTE_MS };
/** A phone's request has a message sent to the whole group again. */
const OF_GROUP = { ofOne: 100, windowMs: 10 * MINUTE_MS };
const OF_GROUP_MESSAGE = { ofOne: 20, windowMs: 60 * MINUTE_MS };
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
export class Requests {
  readonly #options: RequestOptions;
  readonly #allowed = new Allowance(REQUESTS);
  readonly #ofGroup = new Allowance(OF_GROUP);
  readonly #ofGroupMessage = new Allowance(OF_GROUP_MESSAGE);
  readonly #found = new Recent<proto.IMessage>(FOUND);

  constructor(options: RequestOptions) {
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
      this.#mayPass(node)
        .catch(() => false)
        .then((may) => (may ? pass(withoutList(node)) : sendMessageAck(node)))
        // The connection is over: it comes again with the next.
        .catch(() => undefined);
    });
  }

  /** Baileys' `getMessage`. */
  async message({ id, remoteJid }: proto.IMessageKey): Promise<proto.IMessage | undefined> {
    return id && remoteJid ? this.#sent({ id, chat: remoteJid }) : undefined;
  }

  async #mayPass({ attrs }: BinaryNode): Promise<boolean> {
    const asked = this.#askedBy(attrs);
    if (!asked || !this.#allowed.take(senderOf(attrs))) return false;
    if (!(await this.#sent(asked))) return false;
    if (!isJidGroup(asked.chat) || jidDecode(attrs['participant'])?.device) return true;
    return this.#ofGroupMessage.take(`${asked.chat} ${asked.id}`) && this.#ofGroup.take(asked.chat);
  }

  /** Of what Baileys makes of it: where it came from, or for an own device the chat that it names. */
  #askedBy({ id, from, participant, recipient }: BinaryNode['attrs']): Asked | null {
    if (!id || !from) return null;
    const chat = isJidGroup(from) || !this.#options.own(participant ?? from) ? from : recipient;
    return chat ? { id, chat } : null;
  }

  async #sent(asked: Asked): Promise<proto.IMessage | undefined> {
    const name = `${asked.chat} ${asked.id}`;
    const found = this.#found.get(name) ?? (await this.#options.sent(asked));
    if (found) this.#found.set(name, found);
    return found;
  }
}

function withoutList({ content, ...node }: BinaryNode): BinaryNode {
  return { ...node, content: Array.isArray(content) ? content.filter(({ tag }) => tag !== 'list') : content };
}
