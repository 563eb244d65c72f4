import type { Account } from '../people/account.js';
import { userJid } from '../wire/jids.js';
import { node, type Node } from '../wire/nodes.js';
import type { World } from '../world.js';

export interface GroupSettings {
  description: string | null;
  /** Whether only admins may send. */
  announcement: boolean;
  /** Lifetime of messages in seconds; 0: they do not disappear. */
  expiration: number;
  /** Whether clients see the phone numbers of members. Communities hide them. */
  showsPhones: boolean;
  addressing: 'lid' | 'pn';
  /** Id of the community whose announcements this group shows. */
  community: string | null;
  /** Whether it is a community itself. */
  isCommunity: boolean;
}

export interface Group extends GroupSettings {
  id: string;
  subject: string;
  createdAt: number;
  /** Phone numbers. The first one created the group. */
  members: string[];
  /** Phone numbers of members who may manage the group. */
  admins: string[];
}

export const USUAL_SETTINGS: GroupSettings = {
  description: null,
  announcement: false,
  expiration: 0,
  showsPhones: true,
  addressing: 'lid',
  community: null,
  isCommunity: false,
};

export const groupJid = (group: Pick<Group, 'id'>): string => userJid(group.id, 'g.us');

/** Attributes that name a member to clients: the address in use, and the other one if it is visible. */
export function memberNames({ addressing, showsPhones }: GroupSettings, account: Account) {
  if (account.shownAs(addressing) === 'pn') return { jid: account.jid('pn'), lid: account.jid('lid') };
  return { jid: account.jid('lid'), phone_number: showsPhones ? account.otherJid('lid') : undefined };
}

export function roleOf(group: Group, number: string): 'superadmin' | 'admin' | undefined {
  if (!group.admins.includes(number)) return undefined;
  return number === group.members[0] ? 'superadmin' : 'admin';
}

export function memberNodes(world: World, group: Group, numbers: readonly string[]): Node[] {
  return numbers.map((number) => {
    const account = world.people.need(number);
    return node('participant', {
      ...memberNames(group, account),
      username: account.username,
      type: roleOf(group, number),
    });
  });
}
