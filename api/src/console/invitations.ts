import { newUuid, toPublicId } from '@gwk/core/ids';
import { Problem } from '@gwk/core/problems';
import { PageQuery } from '@gwk/core/resources/common';
import { CreatedInvitation, InvitationCreate, InvitationOut } from '@gwk/core/resources/console-member';
import type { Role } from '@gwk/core/roles';
import type { z } from 'zod';
import { audit, byCaller } from '../accounts/audit-log.js';
import { hashToken, newToken } from '../accounts/sessions.js';
import type { Invitation } from '../generated/prisma/client.js';
import { pageSchema } from '../http/cursor.js';
import { operation } from '../http/operation.js';
import { checkOwnerReach, checkReach, readRestriction } from './instances.js';
import { checkOwners } from './members.js';
import { PRIVATE } from './sign-in/sessions.js';

const PATH = '/console/api/invitations';
const VALID_MS = 7 * 86_400_000;

const listInvitations = operation({
  name: 'listInvitations',
  method: 'GET',
  path: PATH,
  summary: 'List open invitations, newest first',
  scope: null,
  person: 'members:read',
  status: 200,
  query: PageQuery,
  result: pageSchema(InvitationOut),
  async handle({ caller: { accountId }, query, services: { db, cursors } }) {
    return cursors.page(
      { accountId, route: `GET ${PATH}`, query },
      ({ before, limit }) =>
        db.invitation.findMany({
          where: { accountId, expiresAt: { gt: new Date() }, ...(before !== null && { id: { lt: before } }) },
          orderBy: { id: 'desc' },
          take: limit,
        }),
      view,
    );
  },
});

const createInvitation = operation({
  name: 'createInvitation',
  method: 'POST',
  path: PATH,
  summary: 'Invite a person',
  description:
    'The link is valid once, for 7 days. Another invitation of the same e-mail replaces the former one. Only owners invite owners, who have all instances. A restricted person manages only invitations within the own instances.',
  scope: null,
  person: 'members:write',
  status: 201,
  problems: ['already-member'],
  body: InvitationCreate,
  result: CreatedInvitation,
  async handle({ caller, session, body: { email, role, instance_ids }, services: { db, config } }) {
    checkOwners(session!, [role]);
    const { accountId } = caller;
    const token = newToken();
    const row = await db.$transaction(async (tx) => {
      const instances = await readRestriction(tx, caller, instance_ids);
      checkOwnerReach(role, instances !== null);
      const former = await tx.invitation.findUnique({ where: { accountId_email: { accountId, email } } });
      if (former) checkReach(caller, former);
      if ((await tx.member.count({ where: { accountId, user: { email } } })) > 0) {
        throw new Problem('already-member');
      }
      const id = newUuid();
      const given = {
        id,
        role,
        restricted: instances !== null,
        instanceIds: instances ?? [],
        tokenHash: hashToken(token),
        createdAt: new Date(),
        expiresAt: new Date(Date.now() + VALID_MS),
      };
      await audit(tx, byCaller(caller, 'invitation.create', id, { email, role }));
      return tx.invitation.upsert({
        where: { accountId_email: { accountId, email } },
        create: { accountId, email, ...given },
        update: given,
      });
    });
    const url = `${config.baseUrl.replace(/\/$/, '')}/console/invitation#token=${token}`;
    return { status: 201, body: { ...view(row), url }, headers: PRIVATE };
  },
});

const revokeInvitation = operation({
  name: 'revokeInvitation',
  method: 'DELETE',
  path: `${PATH}/{invitation_id}`,
  summary: 'Revoke an invitation',
  scope: null,
  person: 'members:write',
  status: 204,
  async handle({ caller, params, services: { db } }) {
    const id = params['invitation_id']!;
    await db.$transaction(async (tx) => {
      const found = await tx.invitation.findFirst({ where: { id, accountId: caller.accountId } });
      if (!found) throw new Problem('not-found');
      checkReach(caller, found);
      const { count } = await tx.invitation.deleteMany({ where: { id, accountId: caller.accountId } });
      if (count === 0) throw new Problem('not-found');
      await audit(tx, byCaller(caller, 'invitation.revoke', id));
    });
    return { status: 204 };
  },
});

const view = (row: Invitation): z.output<typeof InvitationOut> => ({
  id: toPublicId('invitation', row.id),
  email: row.email,
  role: row.role as Role,
  instance_ids: row.restricted ? row.instanceIds.map((id) => toPublicId('instance', id)) : null,
  created_at: row.createdAt.toISOString(),
  expires_at: row.expiresAt.toISOString(),
});

export const invitationOperations = [listInvitations, createInvitation, revokeInvitation];
