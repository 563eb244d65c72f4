import { newUuid } from '@gwk/core/ids/ids';
import type { Logger } from '@gwk/core/process/log';
import { Problem } from '@gwk/core/problems/problems';
import type { Role } from '../../roles.js';
import { audit } from '../../accounts/audit-log.js';
import type { Database } from '../../database/database.js';
import type { Invitation, Prisma, User } from '../../generated/prisma/client.js';
import { joinAccount } from '../accept-invitation.js';
import { endInvitations } from '../members.js';
import type { ProvidedPerson } from './decide.js';

type Transaction = Prisma.TransactionClient;

/**
 * Finds or creates the user of a person and applies the roles of the claim. A person who then has no account accepts the
 * invitations of the e-mail; others accept by the link, so that nobody adds them to an account unasked.
 * @throws Problem `no-account` if the person then has no account
 */
export async function admitPerson(db: Database, person: ProvidedPerson, log: Logger): Promise<User> {
  const { user, hasAccount } = await db.$transaction(async (tx) => {
    // Two first sign-ins of one person take turns.
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`oidc ${person.email}`}, 0))`;
    const invitations = await lockInvitations(tx, person);
    const found = (await findUser(tx, person, log)) ?? (await createUser(tx, person, invitations.length > 0));
    if (!found) return { user: null, hasAccount: false };
    await applyRoles(tx, { user: found, person, log });
    const members = await tx.member.count({ where: { userId: found.id } });
    if (members > 0 || found.isPlatformAdmin) return { user: found, hasAccount: true };
    for (const invitation of invitations) await joinAccount(tx, invitation, { userId: found.id });
    return { user: found, hasAccount: invitations.length > 0 };
  });
  if (!user || !hasAccount) throw new Problem('no-account');
  return user;
}

/** By the subject, which never changes; the first time by the e-mail, which the provider has verified. */
async function findUser(tx: Transaction, person: ProvidedPerson, log: Logger): Promise<User | null> {
  const { issuer, subject, email } = person;
  const known = await tx.userIdentity.findUnique({
    where: { issuer_subject: { issuer, subject } },
    include: { user: true },
  });
  if (known) return known.user;
  const user = await tx.user.findUnique({ where: { email }, include: { identities: { where: { issuer } } } });
  if (!user) return null;
  if (user.identities.length > 0) {
    log.warn({ user_id: user.id }, 'sign-in refused: another person of the provider had this e-mail');
    throw new Problem('no-account');
  }
  return linkUser(tx, user, person);
}

/**
 * Links a user to the person who owns the e-mail. Nobody has verified that the former holder owned it: an administrator can
 * invite any address and accept for it. So everything by which the former holder could sign in ends.
 */
async function linkUser(tx: Transaction, { id }: User, { issuer, subject }: ProvidedPerson): Promise<User> {
  const where = { userId: id };
  await tx.userIdentity.create({ data: { issuer, subject, userId: id } });
  const data = { passwordHash: null, totpSealed: null, totpConfirmedAt: null };
  const linked = await tx.user.update({ where: { id }, data });
  await tx.backupCode.deleteMany({ where });
  await tx.passkey.deleteMany({ where });
  await tx.userSession.deleteMany({ where });
  await tx.handoff.deleteMany({ where });
  await tx.knownDevice.deleteMany({ where });
  await audit(tx, { actor: `user:${id}`, accountId: null, action: 'user.provider-link', subject: id });
  return linked;
}

/** Only for a person to whom the claim gives a role, or who is invited. */
async function createUser(tx: Transaction, person: ProvidedPerson, isInvited: boolean): Promise<User | null> {
  if (!isInvited && ![...person.roles.values()].some((role) => role !== null)) return null;
  const { issuer, subject, email, name } = person;
  const id = newUuid();
  const identities = { create: { issuer, subject } };
  const user = await tx.user.create({ data: { id, email, name, identities } });
  const detail = { email, by: 'provider' };
  await audit(tx, { actor: `user:${id}`, accountId: null, action: 'user.create', subject: id, detail });
  return user;
}

/**
 * The open invitations of the e-mail to accounts that are not suspended. The provider has verified the e-mail. In the accounts whose roles the claim decides, the next
 * sign-in would end the membership. Locked, so that none is revoked or accepted meanwhile.
 */
async function lockInvitations(tx: Transaction, { email, roles }: ProvidedPerson): Promise<Invitation[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT i.id FROM invitations i JOIN accounts a ON a.id = i.account_id
    WHERE i.email = ${email} AND i.expires_at > now() AND a.suspended_at IS NULL AND a.name <> ALL (${[...roles.keys()]}::text[])
    ORDER BY i.id FOR UPDATE OF i`;
  return tx.invitation.findMany({ where: { id: { in: rows.map(({ id }) => id) } } });
}

interface Application {
  user: User;
  person: ProvidedPerson;
  log: Logger;
}

/** Gives the roles of the claim in the accounts that the settings name, and no other. */
async function applyRoles(tx: Transaction, { user, person, log }: Application): Promise<void> {
  // A suspended account gets no new members.
  const OR = [{ suspendedAt: null }, { members: { some: { userId: user.id } } }];
  const accounts = await tx.account.findMany({ where: { name: { in: [...person.roles.keys()] }, OR } });
  for (const { id: accountId, name } of accounts) {
    const role = person.roles.get(name) ?? null;
    // The owners are locked, so that two who lose the role at once take turns.
    await tx.$queryRaw`
      SELECT user_id FROM members WHERE account_id = ${accountId}::uuid AND (role = 'owner' OR user_id = ${user.id}::uuid)
      ORDER BY user_id FOR UPDATE`;
    const place = { accountId, userId: user.id };
    const member = await tx.member.findUnique({ where: { accountId_userId: place } });
    if ((member?.role ?? null) === role) continue;
    if (member?.role === 'owner' && (await isLastOwner(tx, place))) {
      log.warn({ user_id: user.id, account_id: accountId }, 'the last owner keeps the role');
      continue;
    }
    if (member)
      await endInvitations(tx, member, role === null ? null : { role, restricted: member.restricted });
    await setRole(tx, place, role);
    const detail = { role, by: 'provider' };
    await audit(tx, { actor: `user:${user.id}`, accountId, action: 'member.role', subject: user.id, detail });
  }
}

type Place = { accountId: string; userId: string };

const isLastOwner = async (tx: Transaction, { accountId, userId }: Place): Promise<boolean> =>
  (await tx.member.count({ where: { accountId, role: 'owner', userId: { not: userId } } })) === 0;

/** A restricted member stays restricted, unless it becomes an owner, who has all instances. */
async function setRole(tx: Transaction, place: Place, role: Role | null): Promise<void> {
  if (role === null) {
    await tx.member.deleteMany({ where: place });
    return;
  }
  if (role === 'owner') await tx.memberInstance.deleteMany({ where: place });
  await tx.member.upsert({
    where: { accountId_userId: place },
    create: { ...place, role },
    update: { role, ...(role === 'owner' && { restricted: false }) },
  });
}
