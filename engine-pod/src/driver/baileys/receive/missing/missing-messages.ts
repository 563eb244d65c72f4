import { encodeWAMessage, isJidGroup, proto, type BinaryNode } from '@whiskeysockets/baileys';
import type { Clock } from '@gwk/core/clock';
import type { SessionStore } from '../../session/store.js';
import { PhoneRequests, type PhoneConnection } from './phone-requests.js';
import { getSender } from '../decrypt/undecryptable.js';

/** Of the session store. */
export const MISSING_MESSAGES = 'unavailable';

type Attributes = Record<string, string>;

/** What apps never tell a linked device. */
const WITHHELD = new Set([
  'bot_unavailable_fanout',
  'hosted_unavailable_fanout',
  'view_once_unavailable_fanout',
]);
/** The phone does not answer for older ones. */
const MAX_AGE_MS = 14 * 24 * 3_600_000;
const MAX_ASKED = 100;
/** Of an id, and of each thing that is noted beside it. Nobody's app makes longer ones. */
const MAX_ID = 200;
const MAX_VALUE = 300;
/** Whoever writes chooses how much is missing. */
const MAX_MISSING = { perSender: 100, total: 1_000 };

/**
 * Messages whose content is missing: the network brought the envelope alone (their senders' apps encrypted them for the
 * phone and not for this device), or what it brought cannot be read. The phone is asked for each, once; which ones is
 * noted before the network hears that they came, so that an engine that takes over asks again for what is still missing.
 */
export class MissingMessages {
  readonly #store: SessionStore;
  readonly #requests: PhoneRequests;
  #missing: Promise<Map<string, Attributes>> | undefined;

  constructor(store: SessionStore, clock?: Clock) {
    this.#store = store;
    this.#requests = new PhoneRequests(clock);
  }

  /** Resolves once noted; null for a stanza that is no mere envelope. */
  record(stanza: BinaryNode): Promise<void> | null {
    return lacksContent(stanza) ? this.#recordMissing(stanza.attrs) : null;
  }

  /** As `note`, of what was brought and cannot be read. */
  recordUndecryptable({ attrs }: BinaryNode): Promise<void> | null {
    return getAge(attrs) <= MAX_AGE_MS ? this.#recordMissing(attrs) : null;
  }

  /** What the network said of it, where that is known. */
  async findAttrs(id: string): Promise<Attributes | null> {
    return (await this.#loadMissing()).get(id) ?? null;
  }

  /** The API has it, from wherever. */
  async forget(id: string): Promise<void> {
    const known = await this.#loadMissing();
    this.#requests.forget(id);
    if (known.delete(id)) await this.#store.write({ [MISSING_MESSAGES]: { [id]: null } });
  }

  /** For those that an earlier engine, or an earlier connection, has asked for in vain; and for what is missing from now on. */
  async requestThrough(asker: PhoneConnection): Promise<void> {
    const known = await this.#loadMissing();
    const old = [...known].filter(([, attrs]) => getAge(attrs) > MAX_AGE_MS).map(([id]) => id);
    for (const id of old) await this.forget(id);
    for (const [id, attrs] of [...known].slice(-MAX_ASKED)) this.#requests.schedule(id, attrs);
    this.#requests.useConnection(asker);
  }

  /** Of two by one id the first counts: the second is of somebody who has seen it. */
  async #recordMissing(attrs: Attributes): Promise<void> {
    const known = await this.#loadMissing();
    const id = attrs['id']!;
    if (id.length > MAX_ID) return;
    if (!known.has(id)) {
      const sender = getSender(attrs);
      const ofSender = [...known.values()].filter((other) => getSender(other) === sender);
      if (ofSender.length >= MAX_MISSING.perSender) return;
      const [oldest] = known.keys();
      if (known.size >= MAX_MISSING.total) await this.forget(oldest!);
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

function lacksContent(stanza: BinaryNode): boolean {
  const missing = findMissingKind(stanza);
  return missing !== null && !WITHHELD.has(missing) && getAge(stanza.attrs) <= MAX_AGE_MS;
}

/** Null where nothing is missing; else what kind of message it is, by the network's name. */
function findMissingKind({ tag, attrs, content }: BinaryNode): string | null {
  if (tag !== 'message' || !attrs['id'] || attrs['category'] === 'peer') return null;
  const children = Array.isArray(content) ? content : [];
  if (children.some((child) => child.tag === 'enc' || child.tag === 'plaintext')) return null;
  return children.find((child) => child.tag === 'unavailable')?.attrs['type'] ?? '';
}

const MASKED = proto.Message.PlaceholderMessage.PlaceholderType.MASK_LINKED_DEVICES;

/**
 * Of a message that is shown on the phone alone (seen once, say), and will never come: as apps put it, that there is
 * one. Padded as what is decrypted. Null for all others.
 */
export function buildWithheldPlaceholder(stanza: BinaryNode): Uint8Array | null {
  if (!WITHHELD.has(findMissingKind(stanza) ?? '')) return null;
  return encodeWAMessage({ placeholderMessage: { type: MASKED } });
}

/** By way of bytes: a piece of a string keeps all of it. */
const truncate = (value: string): string =>
  value.length > MAX_VALUE ? Buffer.from(value.slice(0, MAX_VALUE)).toString() : value;

const getAge = (attrs: Attributes): number => Date.now() - Number(attrs['t'] ?? 0) * 1_000;

/** A message as the phone has sent it again: what the network would have said of it, and what it says. */
export interface ResentMessage {
  attrs: Attributes;
  message: proto.IMessage;
}

/** Messages that the phone, asked for them, has sent again. It tells them in a message of its own to this device. */
export function parseResentMessages({ protocolMessage }: proto.IMessage, own: string): ResentMessage[] {
  const results = protocolMessage?.peerDataOperationRequestResponseMessage?.peerDataOperationResult ?? [];
  return results.flatMap(({ placeholderMessageResendResponse: answer }) => {
    const info = answer?.webMessageInfoBytes ? proto.WebMessageInfo.decode(answer.webMessageInfoBytes) : null;
    const attrs = info && attrsOf(info, own);
    return attrs && info.message ? [{ attrs, message: info.message }] : [];
  });
}

/** As the network would have said it. */
function attrsOf({ key, ...info }: proto.IWebMessageInfo, own: string): Attributes | null {
  const { id, remoteJid } = key ?? {};
  if (!id || !remoteJid) return null;
  const place = placeOf(
    remoteJid,
    { ...key, participant: key?.participant ?? info.participant ?? null },
    own,
  );
  if (!place) return null;
  return {
    id,
    ...place,
    ...(info.pushName && { notify: info.pushName }),
    t: String(info.messageTimestamp ?? ''),
  };
}

function placeOf(chat: string, { fromMe, participant }: proto.IMessageKey, own: string): Attributes | null {
  if (isJidGroup(chat)) {
    const author = participant ?? (fromMe ? own : null);
    return author === null ? null : { from: chat, participant: author };
  }
  return fromMe ? { from: own, recipient: chat } : { from: chat };
}
