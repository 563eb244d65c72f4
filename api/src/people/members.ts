import { toPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { PageQuery } from '@gwk/core/resources/common';
import { MemberOut, MemberUpdate } from '../resources/console/member.js';
import { isRole, ROLE_RIGHTS, type Role } from '../roles.js';
import type { z } from 'zod';
import { audit, byCaller } from '../accounts/audit-log.js';
import type { Session } from '../accounts/sessions.js';
import type { Prisma } from '../generated/prisma/client.js';
import { pageSchema } from '../http/cursor.js';
import { operation } from '../http/operation.js';
import { checkOwnerReach, checkReach, readRestriction } from '../accounts/restriction.js';
import { WITH_PASSKEY } from './sign-in/sessions.js';

const PATH = '/console/api/members';
const WITH_USER = { include: { user: WITH_PASSKEY, instances: true } } as const;
type MemberRow = Prisma.MemberGetPayload<typeof WITH_USER>;

const listMembers = operation({
  name: 'listMembers',
  method: 'GET',
  path: PATH,
  summary: 'List the members of the account, newest person first',
  scope: null,
  person: 'members:read',
  status: 200,
  query: PageQuery,
  result: pageSchema(MemberOut, 'MemberPage'),
  async handle({ caller: { accountId }, query, services: { db, cursors } }) {
    return cursors.page<MemberRow & { id: string }, z.output<typeof MemberOut>>(
      { accountId, route: `GET ${PATH}`, query },
      async ({ before, limit }) => {
        const rows = await db.member.findMany({
          where: { accountId, ...(before !== null && { userId: { lt: before } }) },
          ...WITH_USER,
          orderBy: { userId: 'desc' },
          take: limit,
        });
        return rows.map((row) => ({ ...row, id: row.userId }));
      },
      viewMember,
    );
  },
});

const updateMember = operation({
  name: 'updateMember',
  method: 'PATCH',
  path: `${PATH}/{user_id}`,
  summary: 'Change role or instances of a member',
  description:
    'Holds within 2 s on every replica. Only owners make and change owners, who have all instances. A restricted person changes only members within the own instances.',
  scope: null,
  person: 'members:write',
  status: 200,
  problems: ['last-owner'],
  body: MemberUpdate,
  result: MemberOut,
  async handle({ caller, session, params, body, services }) {
    const place = { accountId: caller.accountId, userId: params['user_id']! };
    const row = await services.db.$transaction(async (tx) => {
      const member = await lockMember(tx, place);
      checkOwners(session!, [member.role, body.role]);
      checkReach(caller, member);
      if (body.role !== undefined && body.role !== 'owner') await requireOtherOwner(tx, member);
      let { restricted } = member;
      if (body.instance_ids !== undefined) {
        const instances = await readRestriction(tx, caller, body.instance_ids);
        await restrict(tx, place, instances);
        restricted = instances !== null;
      }
      checkOwnerReach(body.role ?? member.role, restricted);
      await endInvitations(tx, member, { role: body.role ?? member.role, restricted });
      await audit(tx, byCaller(caller, 'member.update', place.userId, body));
      return tx.member.update({
        where: { accountId_userId: place },
        data: { ...(body.role !== undefined && { role: body.role }) },
        ...WITH_USER,
      });
    });
    services.sessions.clear();
    return { status: 200, body: viewMember(row) };
  },
});

const removeMember = operation({
  name: 'removeMember',
  method: 'DELETE',
  path: `${PATH}/{user_id}`,
  summary: 'Remove a member',
  description:
    'Keys that the member has created stay. Only owners remove owners. A restricted person removes only members within the own instances.',
  scope: null,
  person: 'members:write',
  status: 204,
  problems: ['last-owner'],
  async handle({ caller, session, params, services }) {
    const place = { accountId: caller.accountId, userId: params['user_id']! };
    await services.db.$transaction(async (tx) => {
      const member = await lockMember(tx, place);
      checkOwners(session!, [member.role]);
      checkReach(caller, member);
      await requireOtherOwner(tx, member);
      await endInvitations(tx, member, null);
      await audit(tx, byCaller(caller, 'member.remove', place.userId));
      await tx.member.delete({ where: { accountId_userId: place } });
    });
    services.sessions.clear();
    return { status: 204 };
  },
});

interface Place {
  accountId: string;
  userId: string;
}

async function restrict(
  tx: Prisma.TransactionClient,
  place: Place,
  instances: readonly string[] | null,
): Promise<void> {
  await tx.memberInstance.deleteMany({ where: place });
  await tx.member.update({
    where: { accountId_userId: place },
    data: {
      restricted: instances !== null,
      instances: { create: (instances ?? []).map((instanceId) => ({ instanceId })) },
    },
  });
}

/**
 * Locks a member and the owners of the account, and reads the member. Two owners who demote each other at once take turns,
 * so that one remains.
 * @throws Problem `not-found`
 */
async function lockMember(tx: Prisma.TransactionClient, { accountId, userId }: Place) {
  await tx.$queryRaw`
    SELECT user_id FROM members
    WHERE account_id = ${accountId}::uuid AND (role = 'owner' OR user_id = ${userId}::uuid)
    ORDER BY user_id FOR UPDATE`;
  const member = await tx.member.findUnique({
    where: { accountId_userId: { accountId, userId } },
    include: { instances: true },
  });
  if (!member) throw new Problem('not-found');
  return { ...member, instanceIds: member.instances.map(({ instanceId }) => instanceId) };
}

export const mayInvite = (role: string): boolean =>
  isRole(role) && ROLE_RIGHTS[role].permissions.includes('members:write');

/** A member, as far as it decides about invitations. Only owners invite owners. */
interface Inviter {
  role: string;
  restricted: boolean;
}

/**
 * Ends the invitations of an account that a member could have made for a second address of the same person, and could no
 * longer make after a change of the member (null: the end of the membership).
 */
export async function endInvitations(
  tx: Prisma.TransactionClient,
  { accountId, role }: Pick<Place, 'accountId'> & { role: string },
  after: Inviter | null,
): Promise<void> {
  const stillInvites = after !== null && mayInvite(after.role) && !after.restricted;
  if (!mayInvite(role) || (stillInvites && (role !== 'owner' || after.role === 'owner'))) return;
  const of = role !== 'owner' ? { role: { not: 'owner' } } : stillInvites ? { role: 'owner' } : {};
  await tx.invitation.deleteMany({ where: { accountId, ...of } });
}

/** Ends the open invitations that a person has made, also as administrator of the platform, where no role allows them now. */
export async function endSentInvitations(tx: Prisma.TransactionClient, userId: string): Promise<void> {
  const members = await tx.member.findMany({ where: { userId, restricted: false } });
  const accountsOf = (may: (role: string) => boolean) =>
    members.filter(({ role }) => may(role)).map(({ accountId }) => accountId);
  await tx.$executeRaw`
    DELETE FROM invitations i USING audit_entries e
    WHERE e.actor = ${`user:${userId}`} AND e.action = 'invitation.create' AND i.id::text = e.subject
      AND i.account_id <> ALL (${accountsOf((role) => role === 'owner')}::uuid[])
      AND (i.role = 'owner' OR i.account_id <> ALL (${accountsOf(mayInvite)}::uuid[]))`;
}

/** @throws Problem `forbidden` if one of the roles is that of an owner, and the person may not change owners */
export function checkOwners({ access }: Session, roles: readonly (string | undefined)[]): void {
  if (roles.includes('owner') && !access!.permissions.has('owners:write')) throw new Problem('forbidden');
}

/** @throws Problem `last-owner` */
async function requireOtherOwner(
  tx: Prisma.TransactionClient,
  { accountId, userId, role }: Place & { role: string },
): Promise<void> {
  if (role !== 'owner') return;
  const others = await tx.member.count({ where: { accountId, role: 'owner', userId: { not: userId } } });
  if (others === 0) throw new Problem('last-owner');
}

const viewMember = ({ user, instances, ...row }: MemberRow): z.output<typeof MemberOut> => ({
  user_id: toPublicId('user', row.userId),
  email: user.email,
  name: user.name,
  role: row.role as Role,
  instance_ids: row.restricted ? instances.map(({ instanceId }) => toPublicId('instance', instanceId)) : null,
  has_totp: user.totpConfirmedAt !== null,
  has_passkey: user.passkeys.length > 0,
  created_at: row.createdAt.toISOString(),
});

export const memberOperations = [listMembers, updateMember, removeMember];
