import { userJid } from '../wire/jids.js';

export interface Group {
  id: string;
  subject: string;
  createdAt: number;
  /** Numbers, the first being the one that made it. */
  members: string[];
}

export const groupJid = (group: Pick<Group, 'id'>): string => userJid(group.id, 'g.us');
