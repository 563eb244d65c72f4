import { deliver } from '../post/mail.js';
import { node, seconds, type Node } from '../wire/nodes.js';
import type { World } from '../world.js';
import { groupJid, type Group } from './group.js';

export interface GroupChange {
  add?: string[];
  remove?: string[];
  subject?: string;
}

/** The creator of the group changes it. All members are notified, including removed ones. */
export function changeGroup(world: World, group: Group, change: GroupChange): void {
  const before = [...group.members];
  const { add = [], remove = [], subject } = change;
  for (const number of [...add, ...remove]) world.people.need(number);
  group.members = [...before.filter((number) => !remove.includes(number)), ...add];
  if (subject !== undefined) group.subject = subject;
  const changes = [
    ...(add.length > 0 ? [membersNode(world, 'add', add)] : []),
    ...(remove.length > 0 ? [membersNode(world, 'remove', remove)] : []),
    ...(subject === undefined ? [] : [node('subject', { subject, s_t: seconds() })]),
  ];
  const everybody = new Set([...before, ...group.members]);
  for (const what of changes) notify(world, group, { everybody, what });
}

function membersNode(world: World, tag: string, numbers: string[]): Node {
  const participants = numbers.map((number) => {
    const account = world.people.need(number);
    return node('participant', { jid: account.jid('lid'), phone_number: account.jid('pn') });
  });
  return node(tag, {}, participants);
}

function notify(
  world: World,
  group: Group,
  { everybody, what }: { everybody: Set<string>; what: Node },
): void {
  const author = world.people.need(group.members[0] ?? [...everybody][0] ?? '');
  const attributes = {
    from: groupJid(group),
    type: 'w:gp2',
    id: world.nextId('gp-'),
    participant: author.jid('lid'),
    participant_pn: author.jid('pn'),
    addressing_mode: 'lid',
    t: seconds(),
    notify: author.name,
  };
  for (const number of everybody) {
    for (const companion of world.people.need(number).companions.values()) {
      deliver(companion, node('notification', attributes, [what]));
    }
  }
}
