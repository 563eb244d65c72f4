import {
  decryptMessageNode,
  isLidUser,
  proto,
  type BinaryNode,
  type SignalRepositoryWithLIDStore as Repository,
  type WAMessageKey,
  type WASocket,
} from '@whiskeysockets/baileys';
import type { AheadRepository } from '../../session/signal-repository.js';

const UNREADABLE = proto.WebMessageInfo.StubType.CIPHERTEXT;
/** Of messages with anything else Baileys makes nothing, or something of its own. */
const TYPES = ['msg', 'pkmsg', 'skmsg'];

const nothing = (): void => undefined;
/** Baileys hears of what fails, and says so. */
const silent = {
  level: 'silent',
  child: () => silent,
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
};

/**
 * Reads a message as Baileys will, before it comes to it: one after the other Baileys waits for each until it is
 * stored, and only then confirms it. So many messages that come at once are stored together, and each is confirmed once
 * it is.
 *
 * @returns whether all of it could be read; its writes are begun. Nothing has changed by what could not be: Baileys
 * is to deal with it before anything behind it is read, since what that gives may belong between them.
 */
export async function decryptAhead(socket: WASocket, stanza: BinaryNode): Promise<boolean> {
  if (!canDecryptAhead(stanza)) return false;
  const { ahead } = socket.signalRepository as AheadRepository;
  const { me } = socket.authState.creds;
  const reading = decryptMessageNode(stanza, me?.id ?? '', me?.lid ?? '', ahead, silent);
  await linkIds(ahead, reading.fullMessage.key);
  await reading.decrypt();
  return reading.fullMessage.messageStubType !== UNREADABLE;
}

/** What the phone of the number tells it, such as who is who, may be what later messages are read by. */
function canDecryptAhead({ attrs, content }: BinaryNode): boolean {
  if (attrs['category'] === 'peer' || !Array.isArray(content)) return false;
  return content.every((part) => part.tag !== 'enc' || TYPES.includes(part.attrs['type'] ?? ''));
}

/**
 * As Baileys does before it decrypts: sessions are looked for under the hidden id, where it is known. Whoever writes by
 * phone is found by what is stored of it; who writes by hidden id needs not wait for that.
 */
async function linkIds(ahead: Repository, key: WAMessageKey): Promise<void> {
  const name = key.participant ?? key.remoteJid;
  const alt = key.participantAlt ?? key.remoteJidAlt;
  if (!name || !alt) return;
  const writesByPhone = isLidUser(alt);
  const [lid, pn] = writesByPhone ? [alt, name] : [name, alt];
  const linked = ahead.lidMapping.storeLIDPNMappings([{ lid, pn }]);
  if (writesByPhone) await linked;
  // Baileys stores it again where this fails.
  else linked.catch(nothing);
  await ahead.migrateSession(pn, lid);
}
