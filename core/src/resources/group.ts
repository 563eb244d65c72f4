import { z } from 'zod';
import { Username } from './common.js';

export const GROUP_ROLES = ['member', 'admin', 'superadmin'] as const;

export const GroupMemberOut = z.object({
  lid: z.string().nullable(),
  /** Digits; null where the network hides the phone number. */
  phone: z.string().nullable(),
  username: Username.nullable(),
  role: z.enum(GROUP_ROLES),
});
export type GroupMemberOut = z.infer<typeof GroupMemberOut>;

/** A group as lists show it. */
export const GroupOut = z.object({
  jid: z.string(),
  subject: z.string(),
  /** Whether only admins may send. */
  announcement: z.boolean(),
  /** Whether it is a community, whose groups name it as their parent. Nothing can be sent there. */
  is_community: z.boolean(),
  /** The community that the group belongs to. */
  parent: z.string().nullable(),
  /** Number of members that the network shows. */
  size: z.number().int(),
  /** Role of the instance's number; null if the network does not list it. */
  role: z.enum(GROUP_ROLES).nullable(),
});
export type GroupOut = z.infer<typeof GroupOut>;

export const GroupDetailsOut = GroupOut.extend({
  description: z.string().nullable(),
  members: z.array(GroupMemberOut),
});
export type GroupDetailsOut = z.infer<typeof GroupDetailsOut>;
