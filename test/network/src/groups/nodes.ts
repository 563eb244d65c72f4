import { node, type Node } from '../wire/nodes.js';
import type { World } from '../world.js';
import { groupJid, memberNames, memberNodes, roleOf, type Group } from './group.js';

/** Describes a group to the client of a member. */
export function groupNode(world: World, group: Group, reader: string): Node {
  const creator = group.members[0] === undefined ? undefined : world.people.get(group.members[0]);
  const names = creator && memberNames(group, creator);
  const at = String(Math.floor(group.createdAt / 1000));
  const attributes = {
    id: group.id,
    subject: group.subject,
    creation: at,
    s_t: at,
    creator: names?.jid,
    creator_pn: names?.phone_number,
    creator_username: creator?.username,
    addressing_mode: group.addressing,
    size: String(group.members.length),
  };
  return node('group', attributes, [
    ...settingNodes(group),
    ...memberNodes(world, group, visibleMembers(group, reader)),
  ]);
}

/** Members of a community see its admins and themselves. */
function visibleMembers(group: Group, reader: string): string[] {
  if (group.community === null || roleOf(group, reader) !== undefined) return group.members;
  return group.members.filter((number) => number === reader || roleOf(group, number) !== undefined);
}

function settingNodes(group: Group): Node[] {
  const { announcement, expiration, description, community, isCommunity } = group;
  return [
    ...(isCommunity ? [node('parent')] : []),
    ...(announcement ? [node('announcement')] : []),
    ...(expiration > 0 ? [node('ephemeral', { expiration: String(expiration) })] : []),
    ...(description === null ? [] : [descriptionNode(description)]),
    ...(community === null
      ? []
      : [node('default_sub_group'), node('linked_parent', { jid: groupJid({ id: community }) })]),
  ];
}

export function descriptionNode(description: string): Node {
  return node('description', { id: 'DESCRIPTION' }, [node('body', {}, Buffer.from(description))]);
}
