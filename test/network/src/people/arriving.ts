import type { proto } from '@whiskeysockets/baileys';
import { CounterUsed } from '../signal/errors.js';
import { bigEndian, readBytes, children, node, seconds, type Node } from '../wire/nodes.js';
import { bundleNodes } from '../signal/keys.js';
import { deliver } from '../post/mail.js';
import type { World } from '../world.js';
import type { Account } from './account.js';
import type { Handset } from './handset.js';
import type { Fate, Received } from './inbox.js';
import { answerDevice } from './resending.js';
import { checkTimer } from './timers.js';
import { checkSender } from './sender-check.js';

/** A message of a real client on its way to one simulated device. */
export interface Arrival {
  handset: Handset;
  from: Account;
  fromDevice: number;
  id: string;
  group?: string;
  /** The JID that the sender used. */
  addressed: string;
  /** Ciphertexts for this device, in reading order. */
  sealed: Node[];
  stanza: Node;
}

interface Opened {
  message?: proto.IMessage;
  fate: Fate;
  error?: string;
}

const MOST_RETRIES = 5;

/** The device reads a message as an app does, and answers with a receipt or a retry request. */
export async function arrive(world: World, arrival: Arrival): Promise<void> {
  const { handset } = arrival;
  const entry = await handset.do(async () => {
    if (arrival.group) await world.nextTurn();
    const opened = await openAll(arrival);
    const entry = world.inbox.add(entryOf(arrival, opened));
    if (entry.fate === 'shown' && !isOwn(arrival)) checkTimer(world, entry);
    respond(world, arrival, entry);
    return entry;
  });
  if (handset.id === 0 && entry.fate === 'shown') await answerDevice(world, entry);
  world.changed();
}

const isOwn = ({ from, handset }: Arrival): boolean => from === handset.account;

async function openAll(arrival: Arrival): Promise<Opened> {
  let opened: Opened = { fate: 'unreadable', error: 'nothing is encrypted for this device' };
  for (const sealed of arrival.sealed) opened = await openOne(arrival, sealed);
  return opened;
}

async function openOne(arrival: Arrival, sealed: Node): Promise<Opened> {
  const { handset, from, fromDevice } = arrival;
  const sender = { user: from.lid, device: fromDevice };
  const type = sealed.attrs.type ?? '';
  try {
    const bytes = readBytes(sealed, 'enc');
    if (type === 'skmsg') {
      const message = await handset.signal.decryptFromGroup(arrival.group ?? '', sender, bytes);
      return { fate: 'shown', message };
    }
    if (type === 'pkmsg') checkSender(arrival, bytes);
    const message = await handset.signal.decrypt(sender, { type, bytes });
    await takeSenderKey(handset, sender, message);
    return { fate: 'shown', message };
  } catch (error) {
    const fate = error instanceof CounterUsed ? 'dropped' : 'unreadable';
    return { fate, error: (error as Error).message };
  }
}

async function takeSenderKey(
  handset: Handset,
  sender: { user: string; device: number },
  message: proto.Message,
): Promise<void> {
  const inner = message.deviceSentMessage?.message ?? message;
  const { groupId, axolotlSenderKeyDistributionMessage: key } = inner.senderKeyDistributionMessage ?? {};
  if (groupId && key) await handset.signal.takeSenderKey(groupId, sender, key);
}

/** Nodes that carry the message itself. All other nodes decide how apps render it. */
const CARRIERS = new Set(['participants', 'enc', 'device-identity']);

function entryOf(arrival: Arrival, opened: Opened): Omit<Received, 'seq' | 'at'> {
  const { handset, from, fromDevice, id, addressed, stanza } = arrival;
  const { attrs: sealed } = arrival.sealed.at(-1) ?? node('none');
  return {
    id,
    from: from.number,
    fromDevice,
    to: handset.account.number,
    device: handset.id,
    addressed,
    ...(arrival.group !== undefined && { group: arrival.group }),
    ...contentOf(opened),
    encryption: sealed.type ?? 'none',
    attempt: Number(sealed.count ?? 0),
    fate: opened.fate,
    ...(opened.error !== undefined && { error: opened.error }),
    renderingNodes: children(stanza).flatMap(({ tag }) => (CARRIERS.has(tag) ? [] : tag)),
    attributes: { ...stanza.attrs, ...(sealed.mediatype && { mediatype: sealed.mediatype }) },
  };
}

/** A copy of a message from another device of the account counts as that message. */
function contentOf({ message }: Opened): Pick<Received, 'message' | 'copyOf'> {
  const copy = message?.deviceSentMessage;
  if (copy?.message) return { message: copy.message, copyOf: copy.destinationJid ?? '' };
  return message ? { message } : {};
}

function respond(world: World, arrival: Arrival, entry: Received): void {
  if (entry.fate === 'unreadable') return askAgain(arrival, entry);
  const { account } = arrival.handset;
  const own = account === arrival.from;
  if (entry.fate === 'dropped' || own || arrival.handset.id !== 0) return;
  if (entry.message?.senderKeyDistributionMessage && arrival.group && entry.encryption !== 'skmsg') return;
  if (account.manners.confirms) sendReceipt(world, entry);
  if (account.manners.confirms && account.manners.readsAtOnce) sendReceipt(world, entry, 'read');
}

/** Sends a receipt for a message, and for others of the same chat, to all devices of the sender. */
export function sendReceipt(
  world: World,
  entry: Received,
  type?: 'read' | 'played',
  others: readonly string[] = [],
): void {
  const reader = world.people.need(entry.to);
  if (type === 'read' && !reader.manners.readReceipts) return;
  const sender = world.people.need(entry.from);
  const server = entry.addressed.endsWith('@s.whatsapp.net') ? 'pn' : 'lid';
  const by = reader.jid(server);
  const where = entry.group === undefined ? { from: by } : { from: entry.group, participant: by };
  const items = others.map((id) => node('item', { id }));
  const list = items.length > 0 ? [node('list', {}, items)] : undefined;
  const receipt = node('receipt', { ...where, id: entry.id, t: seconds(), type }, list);
  for (const companion of sender.companions.values()) deliver(companion, receipt);
}

/** Sends one receipt of several members of a group to all devices of the sender. */
export function sendGroupedReceipt(world: World, entries: readonly Received[], type?: 'read'): void {
  const { id, group, from, addressed } = entries[0]!;
  const server = addressed.endsWith('@s.whatsapp.net') ? 'pn' : 'lid';
  const users = entries.map(({ to }) =>
    node('user', {
      jid: world.people.need(to).jid(server),
      t: seconds(),
      participant_username: world.people.need(to).username,
    }),
  );
  const receipt = node('receipt', { from: group, id, t: seconds(), type }, [
    node('participants', { key: id }, users),
  ]);
  for (const companion of world.people.need(from).companions.values()) deliver(companion, receipt);
}

function askAgain(arrival: Arrival, entry: Received): void {
  const { handset, from, fromDevice, group, id } = arrival;
  const companion = from.companions.get(fromDevice);
  const count = entry.attempt + 1;
  if (!companion || count > MOST_RETRIES) return;
  const server = arrival.addressed.endsWith('@s.whatsapp.net') ? 'pn' : 'lid';
  const by = handset.account.jid(server, handset.id);
  const own = handset.account === from && group === undefined;
  const attributes = {
    ...(group === undefined ? { from: by } : { from: group, participant: by }),
    ...(own && { recipient: arrival.addressed }),
    id,
    t: seconds(),
    type: 'retry',
  };
  const { signal } = handset;
  deliver(
    companion,
    node('receipt', attributes, [
      node('retry', { count: String(count), id, t: seconds(), v: '1' }),
      node('registration', {}, bigEndian(signal.registrationId, 4)),
      // Second and later retries include new keys, because the sender's session may be broken.
      ...(count > 1 ? [node('keys', {}, bundleNodes(signal.bundle()).slice(1))] : []),
    ]),
  );
}
