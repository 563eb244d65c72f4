import { userJid } from '../wire/jids.js';

export interface Group {
  id: string;
  subject: string;
  createdAt: number;
  /** Phone numbers. The first one created the group. */
  members: string[];
}

export const groupJid = (group: Pick<Group, 'id'>): string => userJid(group.id, 'g.us');
