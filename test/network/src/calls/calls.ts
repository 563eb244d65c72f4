import { deliver } from '../post/mail.js';
import type { Account, Companion } from '../people/account.js';
import { parseJid } from '../wire/jids.js';
import { children, node, seconds, type Node } from '../wire/nodes.js';
import type { World } from '../world.js';

export interface CallOptions {
  video?: boolean;
  /** JID of the group that is called. */
  group?: string;
  /** Only tells of the call of a group and does not ring. */
  notice?: boolean;
  /** A call id of the caller's choice. */
  id?: string;
}

export type CallState = 'ringing' | 'rejected' | 'ended';

/** A call of one person to the devices of another. */
export interface Call {
  id: string;
  caller: Account;
  called: Account;
  /** Address of the caller's device, as the offer names it. */
  creator: string;
  state: CallState;
}

/** Offers a call to all linked devices. The network keeps an offer for devices that are offline, as a missed call. */
export function offerCall(world: World, caller: Account, called: Account, options: CallOptions): Call {
  const id = options.id ?? world.nextId('CA');
  const call: Call = { id, caller, called, creator: caller.jid(caller.shownAs()), state: 'ringing' };
  world.calls.set(`${called.number} ${id}`, call);
  tell(world, call, options.notice ? noticeNode(call, options) : offerNode(call, options));
  return call;
}

/** The call ends: the caller hangs up, or the phone of the called person answers. */
export function endCall(world: World, call: Call, reason: string): void {
  call.state = 'ended';
  tell(world, call, node('terminate', { ...idsOf(call), reason }));
}

const idsOf = ({ id, creator, caller }: Call) => ({
  'call-id': id,
  'call-creator': creator,
  caller_pn: caller.shownAs() === 'lid' ? caller.otherJid('lid') : undefined,
});

function offerNode(call: Call, { video, group }: CallOptions): Node {
  const media = [
    node('audio', { enc: 'opus', rate: '16000' }),
    ...(video ? [node('video', { enc: 'vp8' })] : []),
  ];
  const ofGroup = group === undefined ? {} : { type: 'group', 'group-jid': group };
  return node('offer', { ...idsOf(call), ...ofGroup, device_class: '2016' }, [
    ...media,
    node('net', { medium: '3' }),
  ]);
}

function noticeNode(call: Call, { video, group }: CallOptions): Node {
  const media = video ? 'video' : 'audio';
  return node('offer_notice', { ...idsOf(call), media, type: 'group', 'group-jid': group });
}

function tell(world: World, { caller, called }: Call, what: Node): void {
  const attributes = {
    from: caller.jid(caller.shownAs()),
    id: world.nextId('call-'),
    t: seconds(),
    platform: 'android',
    notify: caller.name,
  };
  for (const companion of called.companions.values()) deliver(companion, node('call', attributes, [what]));
}

/** A client answers a call. It can only reject one that rings, and must name it as the offer does. */
export function takeCall(world: World, companion: Companion, stanza: Node): void {
  const [answer] = children(stanza);
  const fault =
    answer?.tag === 'reject' ? reject(world, companion, { stanza, answer }) : 'does not reject it';
  if (fault !== null) world.violated(`call of ${companion.account.number}: ${fault}`);
  const attributes = { class: 'call', id: stanza.attrs.id, from: stanza.attrs.to, type: answer?.tag };
  companion.connection?.send(node('ack', { ...attributes, error: fault === null ? undefined : '400' }));
}

function reject(
  world: World,
  { account }: Companion,
  { stanza: { attrs }, answer }: { stanza: Node; answer: Node },
): string | null {
  const call = world.calls.get(`${account.number} ${answer.attrs['call-id']}`);
  if (!call) return 'unknown call-id';
  if (call.state !== 'ringing') return `the call is ${call.state}`;
  if (attrs.id === undefined) return 'no id';
  if (world.people.byJid(attrs.to) !== call.caller || parseJid(attrs.to)?.device !== 0)
    return 'not to the caller';
  if (answer.attrs['call-creator'] !== call.creator) return 'wrong call-creator';
  if (answer.attrs['count'] !== '0') return 'no count';
  call.state = 'rejected';
  return null;
}
