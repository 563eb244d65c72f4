import type { proto } from '@whiskeysockets/baileys';
import { groupJid, type Group } from '../groups/group.js';
import { deliver } from '../post/mail.js';
import { readPreKey, readSignedPreKey, type Bundle } from '../signal/keys.js';
import { readBytes, child, node, readNumber, ProtocolError, seconds, type Node } from '../wire/nodes.js';
import { takePreKey } from '../session/prekeys.js';
import type { World } from '../world.js';
import { HOSTED_DEVICE, type Account, type Companion } from './account.js';
import type { Handset, Written } from './handset.js';
import { stanzaType } from './stanza-type.js';

export interface WriteOptions {
  id?: string;
  /** Name shown with the message instead of the account's. */
  name?: string;
  /** Further attributes of the stanza. */
  attributes?: Record<string, string | undefined>;
  /** Address type of the sender instead of the account's default. */
  addressing?: 'lid' | 'pn';
  /**
   * Encrypts the message for the phone alone. Linked devices get the envelope and must request the rest from the phone.
   * With a type (such as `view_once_unavailable_fanout`) they never get it.
   */
  unavailable?: boolean | string;
  /** Number of sends that linked devices cannot decrypt. The phone can. */
  garbled?: number;
  /** From the device of the Cloud API, which the account uses beside the app. */
  hosted?: boolean;
}

/** The address of a device; that of the Cloud API has servers of its own. */
function deviceJid({ account, id }: Handset, server: 'lid' | 'pn'): string {
  const jid = account.jid(server, id);
  if (id !== HOSTED_DEVICE) return jid;
  return jid.replace('@s.whatsapp.net', '@hosted').replace('@lid', '@hosted.lid');
}

/** A person writes to a phone number: to each of its companions, each in its own Signal session. */
export async function write(
  world: World,
  handset: Handset,
  to: Account,
  content: { message: proto.IMessage; options?: WriteOptions },
): Promise<string> {
  const { message, options = {} } = content;
  const id = options.id ?? world.nextId();
  const sender = handset.account;
  const server = sender.shownAs(options.addressing);
  const attributes = {
    id,
    from: deviceJid(handset, server),
    ...sender.senderNames(server),
    addressing_mode: server,
    notify: options.name ?? sender.name,
    t: seconds(),
    ...stanzaType(message),
    ...(sender.business !== undefined && { verified_level: 'unknown' }),
    ...options.attributes,
  };
  to.receivedFrom.add(sender.number);
  world.timers.take(message, sender, to);
  handset.keep({ id, message, to: to.number, attributes, garbled: options.garbled ?? 0 });
  if (options.unavailable)
    for (const companion of to.companions.values()) announce(companion, attributes, options.unavailable);
  else await toCompanions(handset, to, { message, attributes });
  world.changed();
  return id;
}

function announce(
  companion: Companion,
  attributes: Written['attributes'],
  why: WriteOptions['unavailable'],
): void {
  const unavailable = node('unavailable', {
    hosted: 'false',
    type: typeof why === 'string' ? why : undefined,
  });
  deliver(companion, node('message', attributes, [unavailable]));
}

/** A person writes on the phone itself. The companions of the account receive a copy. */
export async function writeFromPhone(
  world: World,
  account: Account,
  to: Account | Group,
  content: { message: proto.IMessage; options?: WriteOptions },
): Promise<string> {
  const { message, options = {} } = content;
  const id = options.id ?? world.nextId();
  const wanted = account.shownAs(options.addressing);
  const server = 'members' in to ? wanted : to.shownAs(wanted);
  const chat = 'members' in to ? groupJid(to) : to.jid(server);
  const attributes = {
    id,
    from: account.jid(server),
    recipient: chat,
    ...(!('members' in to) && to.otherNames('peer_recipient', server)),
    addressing_mode: server,
    notify: account.name,
    t: seconds(),
    ...stanzaType(message),
    ...options.attributes,
  };
  if (!('members' in to)) world.timers.take(message, account, to);
  const copy = { deviceSentMessage: { destinationJid: chat, message } };
  account.phone.keep({ id, message: copy, to: account.number, attributes });
  await toCompanions(account.phone, account, { message: copy, attributes });
  world.changed();
  return id;
}

/** A message between devices of one account: keys, history. */
export async function writeToOwn(
  world: World,
  companion: Companion,
  message: proto.IMessage,
): Promise<string> {
  const { account } = companion;
  const id = world.nextId();
  const attributes = {
    id,
    from: account.jid('lid'),
    category: 'peer',
    peer_recipient_pn: account.jid('pn'),
    addressing_mode: 'lid',
    t: seconds(),
    type: 'text',
    push_priority: 'high',
  };
  account.phone.keep({ id, message, to: account.number, attributes });
  await account.phone.do(() => toCompanion(account.phone, companion, { message, attributes }));
  return id;
}

/** A person writes in a group, with a sender key that each device receives once. */
export async function writeToGroup(
  world: World,
  handset: Handset,
  group: Group,
  content: { message: proto.IMessage; options?: WriteOptions },
): Promise<string> {
  const { message, options = {} } = content;
  const id = options.id ?? world.nextId();
  const { account } = handset;
  const jid = groupJid(group);
  const attributes = {
    id,
    from: jid,
    participant: deviceJid(handset, 'lid'),
    ...account.otherNames('participant', 'lid'),
    addressing_mode: 'lid',
    notify: options.name ?? account.name,
    t: seconds(),
    ...stanzaType(message),
    ...options.attributes,
  };
  handset.keep({ id, message, to: jid, attributes, garbled: options.garbled ?? 0 });
  await handset.do(async () => {
    const key = await handset.signal.makeSenderKey(jid, handset.address);
    const bytes = await handset.signal.encryptToGroup(jid, handset.address, message);
    const sealed = node('enc', { v: '2', type: 'skmsg' }, options.garbled ? garble(bytes) : bytes);
    const companions = group.members
      .filter((number) => number !== account.number)
      .flatMap((number) => [...world.people.need(number).companions.values()]);
    if (options.unavailable)
      return companions.forEach((companion) => announce(companion, attributes, options.unavailable));
    for (const companion of companions) {
      const own = handset.hasGivenKey(jid, companion) ? [] : [await sealKey(handset, companion, jid, key)];
      handset.gaveKey(jid, companion);
      deliver(companion, node('message', attributes, [...own, sealed]));
    }
  });
  world.changed();
  return id;
}

async function sealKey(handset: Handset, companion: Companion, group: string, key: Buffer): Promise<Node> {
  const message = {
    senderKeyDistributionMessage: { groupId: group, axolotlSenderKeyDistributionMessage: key },
  };
  return seal(handset, companion, message);
}

export async function toCompanions(
  handset: Handset,
  to: Account,
  content: { message: proto.IMessage; attributes: Written['attributes'] },
): Promise<void> {
  await handset.do(async () => {
    for (const companion of to.companions.values()) await toCompanion(handset, companion, content);
  });
}

async function toCompanion(
  handset: Handset,
  companion: Companion,
  content: { message: proto.IMessage; attributes: Written['attributes'] },
): Promise<void> {
  const sealed = await seal(handset, companion, content.message);
  deliver(companion, node('message', content.attributes, [garbledFor(handset, content, sealed)]));
}

/** Returns the ciphertext, corrupted if this send must be unreadable. */
function garbledFor(
  handset: Handset,
  { attributes }: Pick<Written, 'attributes'>,
  sealed: Node,
  attempt = 0,
): Node {
  const times = handset.kept(attributes.id ?? '')?.garbled ?? 0;
  return attempt < times ? { ...sealed, content: garble(readBytes(sealed, 'enc')) } : sealed;
}

/** Offset from the end that lies in the authentication tag or the text, in all three ciphertext types. */
const PROVED_AT = -12;

/** Corrupts a ciphertext. */
function garble(bytes: Buffer): Buffer {
  const garbled = Buffer.from(bytes);
  garbled[bytes.length + PROVED_AT]! ^= 1;
  return garbled;
}

async function seal(
  handset: Handset,
  companion: Companion,
  message: proto.IMessage,
  count?: number,
): Promise<Node> {
  const address = { user: companion.account.lid, device: companion.id };
  if (!handset.signal.hasSession(address)) {
    await handset.signal.startSession(address, takePreKey(companion));
  }
  const { type, bytes } = await handset.signal.encrypt(address, message);
  return node('enc', { v: '2', type, count: count === undefined ? undefined : String(count) }, bytes);
}

interface AskedAgain {
  companion: Companion;
  id: string;
  count: number;
  /** Keys that the companion sent for a new session. */
  keys: Node | undefined;
  receipt: Node;
}

/** A companion could not read a message. Sends it again in a new session. */
export async function sendAgain(world: World, handset: Handset, asked: AskedAgain): Promise<void> {
  const { companion } = asked;
  const written = handset.kept(asked.id);
  if (!written) throw new Error(`message ${asked.id} was never written by ${handset.account.number}`);
  await handset.do(async () => {
    // The old sessions can still decrypt.
    const address = { user: companion.account.lid, device: companion.id };
    const bundle = asked.keys ? offered(companion, asked) : takePreKey(companion);
    await handset.signal.startSession(address, bundle);
    const group = written.to.endsWith('@g.us') ? written.to : undefined;
    const key = group && (await handset.signal.makeSenderKey(group, handset.address));
    const message = key
      ? {
          ...written.message,
          senderKeyDistributionMessage: { groupId: group, axolotlSenderKeyDistributionMessage: key },
        }
      : written.message;
    const sealed = await seal(handset, companion, message, asked.count);
    deliver(
      companion,
      node('message', written.attributes, [garbledFor(handset, written, sealed, asked.count)]),
    );
  });
  world.changed();
}

function offered(companion: Companion, { keys, receipt }: AskedAgain): Bundle {
  const identity = readBytes(child(keys, 'identity'), 'identity');
  if (!identity.equals(companion.identity)) throw new ProtocolError('offers keys of another identity');
  const preKey = child(keys, 'key');
  return {
    registrationId: readNumber(child(receipt, 'registration'), 'registration'),
    identity,
    signedPreKey: readSignedPreKey(child(keys, 'skey'), identity),
    ...(preKey && { preKey: readPreKey(preKey, 'pre-key') }),
  };
}
