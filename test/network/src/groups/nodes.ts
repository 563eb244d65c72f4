import { node, type Node } from '../wire/nodes.js';
import type { World } from '../world.js';
import type { Group } from './group.js';

/** Describes a group to the clients of its members. */
export function groupNode(world: World, group: Group): Node {
  const creator = group.members[0] === undefined ? undefined : world.people.get(group.members[0]);
  const at = String(Math.floor(group.createdAt / 1000));
  const attributes = {
    id: group.id,
    subject: group.subject,
    creation: at,
    s_t: at,
    creator: creator?.jid('lid'),
    creator_pn: creator?.jid('pn'),
    addressing_mode: 'lid',
    size: String(group.members.length),
  };
  const participants = group.members.map((number, position) => {
    const account = world.people.need(number);
    return node('participant', {
      jid: account.jid('lid'),
      phone_number: account.jid('pn'),
      type: position === 0 ? 'superadmin' : undefined,
    });
  });
  return node('group', attributes, participants);
}
