import type { Account, Companion } from '../people/account.js';
import { arrive } from '../people/arriving.js';
import { groupJid, roleOf, type Group } from '../groups/group.js';
import { parseJid, type Jid } from '../wire/jids.js';
import { child, children, node, ProtocolError, seconds, type Node } from '../wire/nodes.js';
import type { World } from '../world.js';
import { deliver } from './mail.js';

/** Error codes in acknowledgements of messages that the network does not deliver. */
export const MALFORMED = 479;
export const RESTRICTED = 463;
const NOT_FOUND = 404;
/** The sender is no member of the group, or may not send to it. */
const FORBIDDEN = 403;
/** The group uses the other type of address. */
const STALE_ADDRESSING = 421;

/** The message keeps to the protocol, but its sender may not send it. */
class Refused extends Error {
  constructor(readonly code: number) {
    super(`refused with ${code}`);
  }
}

interface Part {
  account: Account;
  device: number;
  sealed: Node[];
}

interface Outgoing {
  companion: Companion;
  stanza: Node;
  id: string;
  to: Jid;
  group?: Group;
}

/** Checks, acknowledges and delivers a message of a real client to every device that it is encrypted for. */
export function carryMessage(world: World, companion: Companion, stanza: Node): void {
  const due = world.faults.answerTo('message', companion.account.number, stanza);
  if (due === 'lose') return;
  const acknowledge = (error?: number) => {
    if (due !== 'silence') companion.connection?.send(acknowledgement(stanza, error));
  };
  try {
    const outgoing = read(world, companion, stanza);
    const parts = partsOf(world, outgoing);
    const refused = typeof due === 'number' ? due : restriction(world, outgoing);
    acknowledge(refused);
    if (refused !== undefined) return;
    for (const part of parts) carry(world, outgoing, part);
  } catch (error) {
    if (error instanceof Refused) return acknowledge(error.code);
    if (!(error instanceof ProtocolError)) throw error;
    world.violated(`message ${stanza.attrs.id ?? ''} of ${companion.account.number}: ${error.message}`);
    acknowledge(MALFORMED);
  }
}

function acknowledgement(stanza: Node, error: number | undefined): Node {
  return node('ack', {
    class: 'message',
    id: stanza.attrs.id,
    from: stanza.attrs.to,
    participant: stanza.attrs.participant,
    t: seconds(),
    error: error === undefined ? undefined : String(error),
  });
}

/** A restricted account may write to people who have written before, to groups, and to its own devices. */
function restriction(world: World, { companion, to, group, stanza }: Outgoing): number | undefined {
  const { account } = companion;
  if (group || world.faults.restrictedUntil(account.number) === undefined) return undefined;
  const receiver = world.people.byJid(stanza.attrs.to);
  if (receiver === account || to.server === 'broadcast') return undefined;
  return receiver && account.receivedFrom.has(receiver.number) ? undefined : RESTRICTED;
}

function read(world: World, companion: Companion, stanza: Node): Outgoing {
  const { id, type } = stanza.attrs;
  const to = parseJid(stanza.attrs.to);
  if (!id) throw new ProtocolError('no id');
  if (!type) throw new ProtocolError('no type');
  if (!to || to.user === '' || to.server === 'other')
    throw new ProtocolError(`no address: ${stanza.attrs.to ?? ''}`);
  if (to.server !== 'g.us') return { companion, stanza, id, to };
  const group = world.groups.get(to.user);
  if (!group) throw new Refused(NOT_FOUND);
  const refusal = refuseInGroup(group, companion.account.number, stanza);
  if (refusal !== undefined) throw new Refused(refusal);
  return { companion, stanza, id, to, group };
}

function refuseInGroup(group: Group, number: string, { attrs }: Node): number | undefined {
  if (!group.members.includes(number)) return FORBIDDEN;
  // An answer to a device that could not read an earlier message.
  if (attrs.participant !== undefined) return undefined;
  // Members may react to announcements.
  if (group.announcement && attrs.type !== 'reaction' && roleOf(group, number) === undefined)
    return FORBIDDEN;
  return (attrs.addressing_mode ?? group.addressing) === group.addressing ? undefined : STALE_ADDRESSING;
}

function partsOf(world: World, outgoing: Outgoing): Part[] {
  const sealed = children(outgoing.stanza, 'enc');
  const parts = children(child(outgoing.stanza, 'participants'), 'to').flatMap((to) =>
    partOf(world, outgoing, to),
  );
  if (parts.some((part) => part.sealed.some((one) => one.attrs.type === 'pkmsg'))) needIdentity(outgoing);
  if (outgoing.stanza.attrs.participant !== undefined) {
    return directPart(world, outgoing, outgoing.stanza.attrs.participant, sealed);
  }
  if (outgoing.group) return groupParts(world, outgoing, outgoing.group, parts);
  if (sealed.length > 0) return directPart(world, outgoing, outgoing.stanza.attrs.to, sealed);
  if (parts.length === 0) throw new ProtocolError('encrypted for nobody');
  return parts;
}

function needIdentity({ stanza }: Outgoing): void {
  if (!child(stanza, 'device-identity')) {
    throw new ProtocolError('opens a session without the identity of its device');
  }
}

/** One `<to>` of the list. A device that was removed meanwhile is skipped; any other mistake fails the message. */
function partOf(world: World, outgoing: Outgoing, to: Node): Part[] {
  const jid = parseJid(to.attrs.jid);
  const sealed = children(to, 'enc');
  if (!jid || sealed.length !== 1) throw new ProtocolError('a receiver without exactly one ciphertext');
  checkSealed(sealed, ['pkmsg', 'msg']);
  const account = world.people.byJid(to.attrs.jid);
  if (outgoing.group) return account ? groupKeyPart(outgoing, { account, device: jid.device, sealed }) : [];
  if (jid.server !== outgoing.to.server) {
    throw new ProtocolError(`addressed by ${outgoing.to.server}, encrypted for ${jid.server}`);
  }
  return account ? chatPart(world, outgoing, { account, device: jid.device, sealed }) : [];
}

const isSender = ({ companion }: Outgoing, { account, device }: Part): boolean =>
  account === companion.account && device === companion.id;

function chatPart(world: World, outgoing: Outgoing, part: Part): Part[] {
  if (isSender(outgoing, part)) throw new ProtocolError('encrypted for the sending device itself');
  const chat = [outgoing.companion.account, world.people.byJid(outgoing.stanza.attrs.to)];
  if (!chat.includes(part.account)) {
    throw new ProtocolError(`encrypted for ${part.account.number}, who is not of this chat`);
  }
  return [part];
}

/**
 * A sender key for a group. Former members do not receive it. Some clients also send it to themselves, which is
 * harmless.
 */
function groupKeyPart(outgoing: Outgoing, part: Part): Part[] {
  const member = outgoing.group?.members.includes(part.account.number);
  return member && !isSender(outgoing, part) ? [part] : [];
}

function checkSealed(sealed: Node[], types: string[]): void {
  for (const { attrs } of sealed) {
    if (attrs.v !== '2') throw new ProtocolError(`ciphertext of version ${attrs.v ?? 'none'}`);
    if (!types.includes(attrs.type ?? ''))
      throw new ProtocolError(`ciphertext of type ${attrs.type ?? 'none'}`);
  }
}

/** A message to one device: a resend on request, or a message between devices of one account. */
function directPart(world: World, outgoing: Outgoing, jid: string | undefined, sealed: Node[]): Part[] {
  checkSealed(sealed, ['pkmsg', 'msg']);
  if (sealed.length !== 1) throw new ProtocolError('not exactly one ciphertext');
  if (sealed[0]?.attrs.type === 'pkmsg') needIdentity(outgoing);
  const account = world.people.byJid(jid);
  return account ? [{ account, device: parseJid(jid)?.device ?? 0, sealed }] : [];
}

function groupParts(world: World, outgoing: Outgoing, group: Group, keys: Part[]): Part[] {
  const sealed = children(outgoing.stanza, 'enc');
  checkSealed(sealed, ['skmsg']);
  if (sealed.length !== 1) throw new ProtocolError('not exactly one ciphertext for the group');
  return group.members.flatMap((number) => {
    const account = world.people.need(number);
    return account
      .devices()
      .filter((device) => account !== outgoing.companion.account || device !== outgoing.companion.id)
      .map((device) => {
        const own = keys.find((part) => part.account === account && part.device === device);
        return { account, device, sealed: [...(own?.sealed ?? []), ...sealed] };
      });
  });
}

function carry(world: World, outgoing: Outgoing, part: Part): void {
  const { companion, stanza, id, group } = outgoing;
  const handset = part.account.handsets.get(part.device);
  if (handset) {
    void arrive(world, {
      handset,
      from: companion.account,
      fromDevice: companion.id,
      id,
      ...(group && { group: groupJid(group) }),
      addressed: stanza.attrs.to ?? '',
      sealed: part.sealed,
      stanza,
    });
    return;
  }
  const other = part.account.companions.get(part.device);
  if (other) deliver(other, forwarded(world, outgoing, part));
}

/** Attributes that name the chat and the sender: for its own devices the other side, which they know as the chat. */
function namesOf(world: World, { companion, stanza, group }: Outgoing, part: Part, server: 'lid' | 'pn') {
  const { account, id } = companion;
  const from = account.jid(server, id);
  if (group)
    return { from: groupJid(group), participant: from, ...account.otherNames('participant', server) };
  if (part.account !== account) return { from, ...account.senderNames(server) };
  const { to } = stanza.attrs;
  return { from, recipient: to, ...world.people.byJid(to)?.otherNames('peer_recipient', server) };
}

/** The stanza as another real client receives it. */
function forwarded(world: World, outgoing: Outgoing, part: Part): Node {
  const { companion, stanza, id, to, group } = outgoing;
  const wanted = group || to.server === 'lid' ? 'lid' : 'pn';
  const server = part.account === companion.account ? wanted : companion.account.shownAs(wanted);
  const identity = child(stanza, 'device-identity');
  const attributes = {
    ...namesOf(world, outgoing, part, server),
    id,
    t: seconds(),
    type: stanza.attrs.type,
    notify: companion.account.name,
    addressing_mode: server,
    edit: stanza.attrs.edit,
    category: stanza.attrs.category,
  };
  return node('message', attributes, [...part.sealed, ...(identity ? [identity] : [])]);
}
