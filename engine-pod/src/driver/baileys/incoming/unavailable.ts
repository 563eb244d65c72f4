import { encodeWAMessage, isJidGroup, proto, type BinaryNode, type WASocket } from '@whiskeysockets/baileys';
import type { SessionStore } from '../session/store.js';

/** Of the session store. */
export const UNAVAILABLE = 'unavailable';

type Attributes = Record<string, string>;
type Asking = Pick<WASocket, 'requestPlaceholderResend'>;

/** What apps never tell a linked device. */
const NEVER = new Set([
  'bot_unavailable_fanout',
  'hosted_unavailable_fanout',
  'view_once_unavailable_fanout',
]);
/** The phone does not answer for older ones. */
const MAX_AGE_MS = 14 * 24 * 3_600_000;
const MAX_ASKED = 100;

/**
 * Messages of which the network brought the envelope alone (their senders' apps encrypted them for the phone and not
 * for this device). Baileys asks the phone for each, once; which ones is noted before the network hears that the
 * envelope came, so that an engine that takes over asks again for what is still missing.
 */
export class Unavailable {
  readonly #store: SessionStore;
  #missing: Promise<Map<string, Attributes>> | undefined;

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** Resolves once noted; null for a stanza of which nothing is missing. */
  note(stanza: BinaryNode): Promise<void> | null {
    return isWithoutContent(stanza) ? this.#note(stanza.attrs) : null;
  }

  /** What the network said of it, where that is known. */
  async attrsOf(id: string): Promise<Attributes | null> {
    return (await this.#known()).get(id) ?? null;
  }

  /** The API has it, from wherever. */
  async came(id: string): Promise<void> {
    const known = await this.#known();
    if (known.delete(id)) await this.#store.write({ [UNAVAILABLE]: { [id]: null } });
  }

  /** For those that an earlier engine, or an earlier connection, has asked for in vain. */
  async askAgain(socket: Asking, own: (jid: string) => boolean): Promise<void> {
    const known = await this.#known();
    const old = [...known].filter(([, attrs]) => ageOf(attrs) > MAX_AGE_MS).map(([id]) => id);
    for (const id of old) await this.came(id);
    const asked = [...known.values()].slice(-MAX_ASKED).map((attrs) => keyOf(attrs, own));
    await Promise.allSettled(asked.map((key) => socket.requestPlaceholderResend(key)));
  }

  async #note(attrs: Attributes): Promise<void> {
    const known = await this.#known();
    known.set(attrs['id']!, attrs);
    await this.#store.write({ [UNAVAILABLE]: { [attrs['id']!]: attrs } });
  }

  #known(): Promise<Map<string, Attributes>> {
    this.#missing ??= this.#store
      .readAll(UNAVAILABLE)
      .then((found) => new Map(Object.entries(found) as [string, Attributes][]));
    return this.#missing;
  }
}

function isWithoutContent(stanza: BinaryNode): boolean {
  const missing = missingOf(stanza);
  return missing !== null && !NEVER.has(missing) && ageOf(stanza.attrs) <= MAX_AGE_MS;
}

/** Null where nothing is missing; else what kind of message it is, by the network's name. */
function missingOf({ tag, attrs, content }: BinaryNode): string | null {
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
export function withheldIn(stanza: BinaryNode): Uint8Array | null {
  if (!NEVER.has(missingOf(stanza) ?? '')) return null;
  return encodeWAMessage({ placeholderMessage: { type: MASKED } });
}

const ageOf = (attrs: Attributes): number => Date.now() - Number(attrs['t'] ?? 0) * 1_000;

function keyOf(attrs: Attributes, own: (jid: string) => boolean) {
  const { id, from = '', participant, recipient } = attrs;
  const author = participant ?? from;
  return {
    id: id!,
    remoteJid: recipient ?? from,
    fromMe: own(author),
    ...(participant !== undefined && { participant }),
  };
}

/** A message as the phone has sent it again: what the network would have said of it, and what it says. */
export interface Resent {
  attrs: Attributes;
  message: proto.IMessage;
}

/** Messages that the phone, asked for them, has sent again. It tells them in a message of its own to this device. */
export function resentIn({ protocolMessage }: proto.IMessage, own: string): Resent[] {
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
