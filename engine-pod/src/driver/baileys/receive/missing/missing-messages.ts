import { encodeWAMessage, isJidGroup, proto, type BinaryNode, type WASocket } from '@whiskeysockets/baileys';
import type { Clock } from '@gwk/core/clock';
import { unrefClock } from '../../../../clock.js';
import { RateLimiter } from '../../rate-limiter.js';
import type { SessionStore } from '../../session/store.js';
import { getSender } from '../decrypt/undecryptable.js';
import type { Journal } from '../journal.js';
import { isListJid } from '../queue/ordered-intake.js';
import { normaliseJid } from '../../stanza-attrs.js';

export type Attributes = Record<string, string>;

/** A connection through which the phone can be asked. */
export interface PhoneConnection {
  socket: Pick<WASocket, 'sendPeerDataOperationMessage'>;
  isOwn: (jid: string) => boolean;
}

/** Type of the entries in the session store. */
const MISSING_MESSAGES = 'unavailable';

const VIEW_ONCE = 'view_once_unavailable_fanout';
/** Kinds of messages that apps never send to linked devices. */
const WITHHELD = new Set(['bot_unavailable_fanout', 'hosted_unavailable_fanout', VIEW_ONCE]);
const MASKED = proto.Message.PlaceholderMessage.PlaceholderType.MASK_LINKED_DEVICES;
/** The phone does not answer for older messages. */
const MAX_AGE_MS = 14 * 24 * 3_600_000;
const MAX_ASKED = 100;
/** Limits of an id and of each stored attribute. No app creates longer ones. */
const MAX_ID = 200;
const MAX_VALUE = 300;
/** Limits per sender and in total, because senders choose how much is missing. */
const MAX_MISSING = { perSender: 100, total: 1_000 };

/**
 * Messages without content: the network sent only the envelope, because the sender's app encrypted for the phone
 * and not for this device, or the content cannot be decrypted. The phone is asked for each, once. The list is
 * stored before the network gets the acknowledgement, so that the next engine asks again for those still missing.
 */
export class MissingMessages {
  readonly #store: SessionStore;
  readonly #journal: Journal;
  readonly #requests: PhoneRequests;
  #missing: Promise<Map<string, Attributes>> | undefined;

  constructor(store: SessionStore, journal: Journal, clock?: Clock) {
    this.#store = store;
    this.#journal = journal;
    this.#requests = new PhoneRequests(clock);
  }

  /**
   * Resolves once recorded; null for a stanza that has content. A message that only the phone shows (for example
   * view-once) never comes, so its placeholder goes into the journal.
   */
  record(stanza: BinaryNode): Promise<void> | null {
    const kind = findMissingKind(stanza);
    if (kind === null) return null;
    if (!WITHHELD.has(kind)) return this.recordUndecryptable(stanza);
    const placeholder = { placeholderMessage: { type: MASKED } };
    const isViewOnce = kind === VIEW_ONCE;
    const message = isViewOnce ? { viewOnceMessageV2: { message: placeholder } } : placeholder;
    // Padded like decrypted content.
    return this.#journal.addPlaintext(stanza.attrs, encodeWAMessage(message));
  }

  /** Records a message whose content cannot be decrypted. */
  recordUndecryptable({ attrs }: BinaryNode): Promise<void> | null {
    return getAge(attrs) <= MAX_AGE_MS ? this.#recordMissing(attrs) : null;
  }

  /** The attributes that the network sent with the message, if it is missing. */
  async findAttrs(id: string): Promise<Attributes | null> {
    return (await this.#loadMissing()).get(id) ?? null;
  }

  /**
   * The API has the message of this author, from any source. A message of somebody else with the same id does not end the
   * search.
   */
  async forget(id: string, authors: readonly string[]): Promise<void> {
    const attrs = await this.findAttrs(id);
    if (!attrs || authors.includes(getSender(attrs))) await this.#giveUp(id);
  }

  async #giveUp(id: string): Promise<void> {
    const known = await this.#loadMissing();
    this.#requests.forget(id);
    if (known.delete(id)) await this.#store.write({ [MISSING_MESSAGES]: { [id]: null } });
  }

  /**
   * Asks for the messages that earlier connections asked for without an answer, and from now on for newly missing
   * ones.
   */
  async requestThrough(connection: PhoneConnection): Promise<void> {
    const known = await this.#loadMissing();
    const old = [...known].filter(([, attrs]) => getAge(attrs) > MAX_AGE_MS).map(([id]) => id);
    for (const id of old) await this.#giveUp(id);
    for (const [id, attrs] of [...known].slice(-MAX_ASKED)) this.#requests.schedule(id, attrs);
    this.#requests.useConnection(connection);
  }

  /** The first message with an id counts. A second one comes from somebody who has seen the id. */
  async #recordMissing(attrs: Attributes): Promise<void> {
    const known = await this.#loadMissing();
    const id = attrs['id']!;
    if (id.length > MAX_ID) return;
    if (!known.has(id)) {
      const sender = getSender(attrs);
      const ofSender = [...known.values()].filter((other) => getSender(other) === sender);
      if (ofSender.length >= MAX_MISSING.perSender) return;
      const [oldest] = known.keys();
      if (known.size >= MAX_MISSING.total) await this.#giveUp(oldest!);
      const cut = Object.entries(attrs).map(([name, value]) => [name, truncate(value)] as const);
      known.set(id, Object.fromEntries(cut));
    }
    this.#requests.schedule(id, known.get(id)!);
    await this.#store.write({ [MISSING_MESSAGES]: { [id]: known.get(id) } });
  }

  #loadMissing(): Promise<Map<string, Attributes>> {
    this.#missing ??= this.#store
      .readAll(MISSING_MESSAGES)
      .then((found) => new Map(Object.entries(found) as [string, Attributes][]));
    return this.#missing;
  }
}

/** Null when nothing is missing; else the network's name for the kind of message. */
function findMissingKind({ tag, attrs, content }: BinaryNode): string | null {
  if (tag !== 'message' || !attrs['id'] || attrs['category'] === 'peer') return null;
  const children = Array.isArray(content) ? content : [];
  if (children.some((child) => child.tag === 'enc' || child.tag === 'plaintext')) return null;
  return children.find((child) => child.tag === 'unavailable')?.attrs['type'] ?? '';
}

/** Copies the bytes, because a slice would keep the whole string in memory. */
const truncate = (value: string): string =>
  value.length > MAX_VALUE ? Buffer.from(value.slice(0, MAX_VALUE)).toString() : value;

const getAge = (attrs: Attributes): number => Date.now() - Number(attrs['t'] ?? 0) * 1_000;

/** Delay before asking. The sender or the phone may send the message again on its own. */
const WAIT_MS = 2_000;
/** Delay while the limit is reached. */
const RETRY_MS = 30_000;
/** Each request costs the phone effort too. */
const REQUEST_LIMIT = { perKey: 60, total: 600, windowMs: 10 * 60_000 };

/**
 * Asks the phone for messages whose content did not come: once for each connection, after a delay, and limited per
 * sender. The others wait. The caller bounds how many.
 */
export class PhoneRequests {
  readonly #clock: Clock;
  readonly #limiter: RateLimiter;
  readonly #due = new Map<string, { attrs: Attributes; at: number }>();
  #connection: PhoneConnection | undefined;
  #timerRuns = false;

  constructor(clock = unrefClock) {
    this.#clock = clock;
    this.#limiter = new RateLimiter(REQUEST_LIMIT, () => clock.now());
  }

  /** Uses this connection from now on. */
  useConnection(connection: PhoneConnection): void {
    this.#connection = connection;
    this.#startTimer(WAIT_MS);
  }

  schedule(id: string, attrs: Attributes): void {
    this.#due.set(id, { attrs, at: this.#clock.now() + WAIT_MS });
    this.#startTimer(WAIT_MS);
  }

  /** The message came. */
  forget(id: string): void {
    this.#due.delete(id);
  }

  #startTimer(inMs: number): void {
    if (this.#timerRuns || !this.#connection || this.#due.size === 0) return;
    this.#timerRuns = true;
    this.#clock.after(inMs, () => void this.#requestDue());
  }

  /** One request at a time, so that the instance's own messages do not wait behind all of them. */
  async #requestDue(): Promise<void> {
    let next = RETRY_MS;
    for (const [id, { attrs, at }] of this.#due) {
      const early = at - this.#clock.now();
      if (early > 0) {
        next = early;
        break;
      }
      if (!this.#limiter.take(getSender(attrs))) continue;
      this.#due.delete(id);
      // If this connection has ended, the next one asks.
      await this.#request(attrs).catch(() => undefined);
    }
    this.#timerRuns = false;
    this.#startTimer(next);
  }

  async #request(attrs: Attributes): Promise<void> {
    const { socket, isOwn } = this.#connection!;
    await socket.sendPeerDataOperationMessage({
      placeholderMessageResendRequest: [{ messageKey: buildMessageKey(attrs, isOwn) }],
      peerDataOperationRequestType: proto.Message.PeerDataOperationRequestType.PLACEHOLDER_MESSAGE_RESEND,
    });
  }
}

/** The key as the phone names the message: without devices. */
function buildMessageKey(attrs: Attributes, own: (jid: string) => boolean): proto.IMessageKey {
  const { id, from = '', participant, recipient } = attrs;
  return {
    id: id!,
    remoteJid: normaliseJid(recipient ?? from),
    fromMe: own(participant ?? from),
    ...(participant !== undefined && { participant: normaliseJid(participant) }),
  };
}

/** A message that the phone sent again: the attributes the network would have sent, and the content. */
interface ResentMessage {
  attrs: Attributes;
  message: proto.IMessage;
}

/** Parses the messages that the phone sent again on request, in a message of its own to this device. */
export function parseResentMessages({ protocolMessage }: proto.IMessage, own: string): ResentMessage[] {
  const results = protocolMessage?.peerDataOperationRequestResponseMessage?.peerDataOperationResult ?? [];
  return results.flatMap(({ placeholderMessageResendResponse: answer }) => {
    const info = answer?.webMessageInfoBytes ? proto.WebMessageInfo.decode(answer.webMessageInfoBytes) : null;
    const attrs = info && buildAttrs(info, own);
    return attrs && info.message ? [{ attrs, message: info.message }] : [];
  });
}

/** Null when the chat or the author is not stated. */
function buildAttrs({ key, ...info }: proto.IWebMessageInfo, own: string): Attributes | null {
  const { id, remoteJid: chat } = key ?? {};
  const place = chat ? buildAddress(chat, { participant: info.participant ?? null, ...key }, own) : null;
  if (!id || !place) return null;
  const t = String(info.messageTimestamp ?? '');
  return { id, ...place, ...(info.pushName && { notify: info.pushName }), t };
}

function buildAddress(
  chat: string,
  { fromMe, participant }: proto.IMessageKey,
  own: string,
): Attributes | null {
  if (!isJidGroup(chat) && !isListJid(chat)) return fromMe ? { from: own, recipient: chat } : { from: chat };
  const author = participant ?? (fromMe ? own : null);
  return author === null ? null : { from: chat, participant: author };
}
