import type { Network } from '../network.js';
import { announceGroup, changeGroup, type GroupChange } from '../groups/changes.js';
import { groupJid, USUAL_SETTINGS, type Group, type GroupSettings } from '../groups/group.js';
import { parseJid } from '../wire/jids.js';
import type { World } from '../world.js';

export interface GroupOptions extends Partial<GroupSettings> {
  id?: string;
  /** Phone numbers of admins beside the creator. */
  admins?: string[];
  /** Whether the members are notified of the new group. */
  announced?: boolean;
}

function needGroup(world: World, jid: string): Group {
  const group = world.groups.get(parseJid(jid)?.user ?? '');
  if (!group) throw new Error(`unknown group ${jid}`);
  return group;
}

export const groupCommands = {
  group: (
    { world }: Network,
    {
      id,
      subject,
      members,
      admins = [],
      announced,
      ...settings
    }: GroupOptions & { subject: string; members: string[] },
  ) => {
    const group: Group = {
      ...USUAL_SETTINGS,
      ...settings,
      id: id ?? `1203630${String(world.groups.size + 1).padStart(11, '0')}`,
      subject,
      createdAt: Date.now(),
      members: members.map((number) => world.people.need(number).number),
      admins: [...members.slice(0, 1), ...admins],
    };
    world.groups.set(group.id, group);
    if (announced) announceGroup(world, group);
    return { id: group.id, jid: groupJid(group) };
  },

  /** Changes members, roles and settings. All affected clients are notified. */
  changeGroup: ({ world }: Network, { jid, ...change }: { jid: string } & GroupChange) => {
    const group = needGroup(world, jid);
    changeGroup(world, group, change);
    return { members: group.members };
  },

  removeGroup: ({ world }: Network, { jid }: { jid: string }) => {
    world.groups.delete(needGroup(world, jid).id);
    return {};
  },

  /** Counts the queries of a phone number for the metadata of groups. */
  groupQueries: ({ world }: Network, { number, after = 0 }: { number: string; after?: number }) => {
    const queries = world.record
      .find({ way: 'in', tag: 'iq', number, after })
      .filter(({ stanza }) => stanza.attrs.xmlns === 'w:g2');
    return { count: queries.length };
  },
};
