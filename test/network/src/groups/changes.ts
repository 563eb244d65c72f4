import { deliver } from '../post/mail.js';
import { node, seconds, type Node } from '../wire/nodes.js';
import type { World } from '../world.js';
import { groupJid, memberNames, memberNodes, type Group } from './group.js';
import { descriptionNode, groupNode } from './nodes.js';

export interface GroupChange {
  add?: string[];
  remove?: string[];
  promote?: string[];
  demote?: string[];
  subject?: string;
  description?: string | null;
  announcement?: boolean;
  expiration?: number;
  /** The group changes to this type of address. Clients are not notified. */
  addressing?: Group['addressing'];
  /** Why the members in `add` join: `invite` by a link. */
  reason?: string;
  /** The member who changes the group; the creator by default. */
  by?: string;
}

/** A member changes a group. All members are notified, including removed ones. */
export function changeGroup(world: World, group: Group, change: GroupChange): void {
  const { add = [], remove = [], promote = [], demote = [] } = change;
  for (const number of [...add, ...remove, ...promote, ...demote]) world.people.need(number);
  const everybody = new Set([...group.members, ...add]);
  const author = change.by ?? group.members[0] ?? '';
  // Nodes of removed members are made before they leave.
  const nodes = [...memberChanges(world, group, change), ...settingChanges(change)];
  group.members = [...new Set([...group.members, ...add])].filter((number) => !remove.includes(number));
  group.admins = [...new Set([...group.admins, ...promote])].filter(
    (number) => !demote.includes(number) && group.members.includes(number),
  );
  const { subject, description, announcement, expiration, addressing } = change;
  const settings = Object.entries({ subject, description, announcement, expiration, addressing });
  Object.assign(group, Object.fromEntries(settings.filter(([, value]) => value !== undefined)));
  for (const what of nodes) notify(world, group, { everybody, author, what });
}

/** Tells the members of a new group of it. */
export function announceGroup(world: World, group: Group): void {
  for (const number of group.members) {
    const what = node('create', { type: 'new', key: group.id }, [groupNode(world, group, number)]);
    notify(world, group, { everybody: new Set([number]), author: group.members[0] ?? '', what });
  }
}

function memberChanges(world: World, group: Group, change: GroupChange): Node[] {
  return (['add', 'remove', 'promote', 'demote'] as const).flatMap((tag) => {
    const numbers = change[tag] ?? [];
    const reason = tag === 'add' ? change.reason : undefined;
    return numbers.length === 0 ? [] : [node(tag, { reason }, memberNodes(world, group, numbers))];
  });
}

function settingChanges({ subject, description, announcement, expiration }: GroupChange): Node[] {
  return [
    ...(subject === undefined ? [] : [node('subject', { subject, s_t: seconds() })]),
    ...(description === undefined ? [] : [describe(description)]),
    ...(announcement === undefined ? [] : [node(announcement ? 'announcement' : 'not_announcement')]),
    ...(expiration === undefined ? [] : [expire(expiration)]),
  ];
}

function describe(description: string | null): Node {
  return description === null
    ? node('description', { id: 'DESCRIPTION' }, [node('delete')])
    : descriptionNode(description);
}

function expire(expiration: number): Node {
  return expiration === 0
    ? node('not_ephemeral')
    : node('ephemeral', { expiration: String(expiration), trigger: '0' });
}

function notify(
  world: World,
  group: Group,
  { everybody, author, what }: { everybody: Set<string>; author: string; what: Node },
): void {
  const account = world.people.need(author);
  const names = memberNames(group, account);
  const attributes = {
    from: groupJid(group),
    type: 'w:gp2',
    id: world.nextId('gp-'),
    participant: names.jid,
    participant_pn: names.phone_number,
    participant_username: account.username,
    addressing_mode: group.addressing,
    t: seconds(),
    notify: account.name,
  };
  for (const number of everybody) {
    for (const companion of world.people.need(number).companions.values()) {
      deliver(companion, node('notification', attributes, [what]));
    }
  }
}
