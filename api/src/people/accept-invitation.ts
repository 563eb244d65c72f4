import { newUuid } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { InvitationAccept } from '../resources/console/member.js';
import { SessionOut } from '../resources/console/session.js';
import type { z } from 'zod';
import { audit } from '../accounts/audit-log.js';
import { hashToken, type Session } from '../accounts/sessions.js';
import type { Invitation, Prisma, User } from '../generated/prisma/client.js';
import { operation } from '../http/operation.js';
import type { Services } from '../http/services.js';
import { newSuspensionProblem } from '../http/suspension.js';
import { SessionCookie } from '../http/session-cookie.js';
import { requirePasswords } from './oidc/passwords-off.js';
import { isWeak } from './weak-passwords.js';
import { PRIVATE, startSession, viewSession } from './sign-in/sessions.js';

type Acceptance = z.output<typeof InvitationAccept>;

const acceptInvitation = operation({
  name: 'acceptInvitation',
  method: 'POST',
  path: '/console/api/invitations/accept',
  summary: 'Accept an invitation',
  description:
    'A person who is signed in with the e-mail of the invitation becomes a member. A new person sends name and password, and is signed in. A known person signs in first. The sign-in with the provider accepts the invitations of the e-mail itself.',
  scope: null,
  person: 'anyone',
  status: 200,
  problems: [
    'account-suspended',
    'invitation-invalid',
    'already-member',
    'passwords-off',
    'user-exists',
    'weak-password',
  ],
  body: InvitationAccept,
  result: SessionOut,
  async handle({ session, body, exchange, services }) {
    const { db, config } = services;
    const invitation = await findInvitation(services, body.token);
    const known = await db.user.findUnique({ where: { email: invitation.email } });
    if (!known || session?.userId !== known.id) {
      const given = requireGiven(body);
      if (known) throw new Problem('user-exists');
      requirePasswords(config);
      const user = await createUser(services, invitation, given);
      return startSession(services, exchange, { user, by: 'invitation', stale: 'invitation-invalid' });
    }
    await db.$transaction((tx) => joinAccount(tx, invitation, session));
    services.sessions.clear();
    const token = new SessionCookie(config).read(exchange.headers.cookie)!;
    return { status: 200, body: await viewSession(services, token), headers: PRIVATE };
  },
});

/** @throws Problem `invitation-invalid` */
async function findInvitation({ db }: Services, token: string): Promise<Invitation> {
  const hash = hashToken(token);
  const found = await db.invitation.findFirst({
    where: { OR: [{ tokenHash: hash }, { emailedHash: hash }], expiresAt: { gt: new Date() } },
  });
  if (!found) throw new Problem('invitation-invalid');
  return found;
}

interface Given {
  name: string;
  password: string;
}

/**
 * Name and password are checked before `user-exists`: an inviter who wants to know whether an e-mail has a user must accept
 * the invitation, which the audit log shows.
 * @throws Problem `validation-error`
 */
function requireGiven({ name, password }: Acceptance): Given {
  if (name !== undefined && password !== undefined) return { name, password };
  const missing = [name === undefined && 'name', password === undefined && 'password'].filter(Boolean);
  throw new Problem('validation-error', {
    errors: missing.map((path) => ({ path: String(path), code: 'required', message: 'is required' })),
  });
}

async function createUser(
  services: Services,
  invitation: Invitation,
  { name, password }: Given,
): Promise<User> {
  const { email } = invitation;
  if (await isWeak(password, email)) throw new Problem('weak-password');
  const passwordHash = await services.passwords.hash(password);
  return services.db.$transaction(async (tx) => {
    const id = newUuid();
    await tx.user.createMany({ data: [{ id, email, name, passwordHash }], skipDuplicates: true });
    const user = await tx.user.findUniqueOrThrow({ where: { email } });
    // Another request has created the person meanwhile.
    if (user.id !== id) throw new Problem('user-exists');
    // Nobody has verified the e-mail. `gwk user create` names the account whose invitation made the person.
    await audit(tx, {
      actor: `user:${id}`,
      accountId: invitation.accountId,
      action: 'user.create',
      subject: id,
      detail: { email },
    });
    await joinAccount(tx, invitation, { userId: user.id });
    return user;
  });
}

/**
 * Uses up the invitation. Only one of two uses at once deletes it.
 * @throws Problem `account-suspended`, `already-member`, `invitation-invalid`
 */
export async function joinAccount(
  tx: Prisma.TransactionClient,
  { id, accountId, role, restricted, instanceIds, tokenHash }: Invitation,
  { userId }: Pick<Session, 'userId'>,
): Promise<void> {
  const account = await tx.account.findUniqueOrThrow({ where: { id: accountId } });
  if (account.suspendedAt !== null) throw newSuspensionProblem();
  if ((await tx.member.count({ where: { accountId, userId } })) > 0) throw new Problem('already-member');
  const { count } = await tx.invitation.deleteMany({ where: { id, tokenHash } });
  if (count === 0) throw new Problem('invitation-invalid');
  const left = await tx.instance.findMany({
    where: { id: { in: instanceIds }, accountId, deletedAt: null },
    select: { id: true },
  });
  const instances = { create: left.map((instance) => ({ instanceId: instance.id })) };
  await tx.member.create({ data: { accountId, userId, role, restricted, instances } });
  await audit(tx, {
    actor: `user:${userId}`,
    accountId,
    action: 'member.join',
    subject: userId,
    detail: { role },
  });
}

export const acceptanceOperations = [acceptInvitation];
