import {
  decryptMessageNode,
  isLidUser,
  proto,
  type BinaryNode,
  type SignalRepositoryWithLIDStore as Repository,
  type WAMessageKey,
  type WASocket,
} from '@whiskeysockets/baileys';
import { SILENT_LOGGER } from '../../connection/baileys-logger.js';
import type { AheadRepository } from '../../session/signal-repository.js';
import { normaliseJid } from '../../stanza-attrs.js';

const UNREADABLE = proto.WebMessageInfo.StubType.CIPHERTEXT;
/** Types of encrypted content that Baileys decrypts. It ignores other types or handles them in its own way. */
const TYPES = ['msg', 'pkmsg', 'skmsg'];

/**
 * Decrypts a message before Baileys handles it, so that many messages share one write. Baileys waits for each
 * message to be stored before it handles the next.
 *
 * @returns whether every part was decrypted. If not, nothing has changed, and Baileys must handle the message
 * before any later one is decrypted, because the result may affect the later ones.
 */
export async function decryptAhead(socket: WASocket, stanza: BinaryNode): Promise<boolean> {
  if (!canDecryptAhead(stanza)) return false;
  const { ahead } = socket.signalRepository as AheadRepository;
  const { me } = socket.authState.creds;
  // Baileys logs failures itself when it handles the message.
  const reading = decryptMessageNode(stanza, me?.id ?? '', me?.lid ?? '', ahead, SILENT_LOGGER);
  await linkIds(ahead, reading.fullMessage.key);
  await reading.decrypt();
  return reading.fullMessage.messageStubType !== UNREADABLE;
}

/** Peer messages of the instance's phone, such as LID mappings, may change how later messages are decrypted. */
function canDecryptAhead({ attrs, content }: BinaryNode): boolean {
  if (attrs['category'] === 'peer' || !Array.isArray(content)) return false;
  return content.every((part) => part.tag !== 'enc' || TYPES.includes(part.attrs['type'] ?? ''));
}

/**
 * Links both ids of the sender, as Baileys does before it decrypts: sessions are kept under the LID once it is
 * known. A sender who uses the phone number is found through the stored link. A sender who uses the LID need not
 * wait for it.
 */
async function linkIds(ahead: Repository, key: WAMessageKey): Promise<void> {
  const name = key.participant ?? key.remoteJid;
  const alt = key.participantAlt ?? key.remoteJidAlt;
  if (!name || !alt) return;
  const writesByPhone = isLidUser(alt);
  const person = name.includes('@hosted') ? normaliseJid(name) : name;
  const [lid, pn] = writesByPhone ? [alt, person] : [person, alt];
  const linked = ahead.lidMapping.storeLIDPNMappings([{ lid, pn }]);
  if (writesByPhone) await linked;
  // If this fails, Baileys stores it again.
  else linked.catch(() => undefined);
  await ahead.migrateSession(pn, lid);
}
