import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { Problem, type ProblemCode } from '@gwk/core/problems/problems';
import { isRole, ROLE_RIGHTS, type Role } from '../../roles.js';
import type { SecondFactor } from '@gwk/core/resources/problem';
import type { Language, SessionOut } from '../../resources/console/session.js';
import { audit } from '../../accounts/audit-log.js';
import { deriveCsrfToken, hashToken, IDLE_HOURS, MAX_DAYS, newToken } from '../../accounts/sessions.js';
import type { Database } from '../../database/database.js';
import type { Prisma, User, UserSession } from '../../generated/prisma/client.js';
import type { Exchange } from '../../http/exchange.js';
import type { Answer } from '../../http/respond.js';
import type { Services } from '../../http/services.js';
import { matchAccounts } from '../../accounts/account-view.js';
import { SessionCookie } from '../../http/session-cookie.js';
import { rememberDevice } from './devices.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Sessions of one user, and sign-ins that wait for a code; the oldest ends. */
const MAX_SESSIONS = 50;
/** Further accounts are found by their names. */
const MAX_ACCOUNTS = 50;
/** How long a sign-in waits for the code of the second factor. */
const PENDING_SECONDS = 600;
const MAX_USER_AGENT = 300;

/** A person who has proved to be the user, as the sign-in has read the user. */
export interface Proof {
  user: User;
  by: 'password' | 'link' | 'code' | 'passkey' | 'provider' | 'invitation';
  /** The problem if password or second factor change before the session exists: the proof is then worth nothing. */
  stale: ProblemCode;
  /** The passkey of the proof, which must still exist; null: the person must have none still. */
  passkeyId?: string | null;
  /** The proof is the code or the passkey for the pending session of the cookie, which must still exist. */
  completes?: boolean;
}

/** Ends the session of the cookie, starts another one and answers with it. Its token is new, against fixation. */
export async function startSession(services: Services, req: Exchange, proof: Proof): Promise<Answer> {
  const { config } = services;
  const cookie = new SessionCookie(config);
  const token = newToken();
  const expiresAt = new Date(Date.now() + MAX_DAYS * DAY_MS);
  const before = cookie.read(req.headers.cookie);
  const device = await replaceSession(services, { before, token, proof, req, expiresAt });
  services.sessions.clear();
  const body = await viewSession(services, token);
  const session = cookie.set(token, (MAX_DAYS * DAY_MS) / 1000);
  const headers = ['Set-Cookie', session, 'Set-Cookie', device!, ...PRIVATE];
  return { status: 200, body, headers };
}

/**
 * Keeps the sign-in of a person with a second factor until the code or the passkey arrives.
 * @throws Problem `mfa-required`, always, with the cookie of the pending session
 */
async function awaitFactor(
  services: Services,
  req: Exchange,
  { proof, factors }: { proof: Proof; factors: SecondFactor[] },
): Promise<never> {
  const cookie = new SessionCookie(services.config);
  const token = newToken();
  const before = cookie.read(req.headers.cookie);
  const expiresAt = new Date(Date.now() + PENDING_SECONDS * 1000);
  await replaceSession(services, { before, token, proof, req, expiresAt, pending: true });
  throw new Problem('mfa-required', { factors, setCookie: cookie.set(token, PENDING_SECONDS) });
}

/** Lists the second factors of a person. */
export async function listFactors(db: Pick<Database, 'passkey'>, user: User): Promise<SecondFactor[]> {
  const passkeys = await db.passkey.count({ where: { userId: user.id } });
  return [
    ...(user.totpConfirmedAt === null ? [] : (['totp'] as const)),
    ...(passkeys > 0 ? (['passkey'] as const) : []),
  ];
}

/** Starts a session, or waits for the second factor. @throws Problem `mfa-required` */
export async function finishFirstFactor(services: Services, req: Exchange, proof: Proof): Promise<Answer> {
  const factors = await listFactors(services.db, proof.user);
  return factors.length === 0
    ? startSession(services, req, { ...proof, passkeyId: null })
    : awaitFactor(services, req, { proof, factors });
}

/** Returns the sign-in that waits for a second factor. @throws Problem `mfa-not-pending` */
export async function findPending(
  { db, config }: Services,
  req: Exchange,
): Promise<UserSession & { user: User }> {
  const token = new SessionCookie(config).read(req.headers.cookie);
  const found = await db.userSession.findFirst({
    where: { tokenHash: hashToken(token ?? ''), pending: true, expiresAt: { gt: new Date() } },
    include: { user: true },
  });
  if (!found) throw new Problem('mfa-not-pending');
  return found;
}

export const PRIVATE = ['Cache-Control', 'no-store'];

interface NewSession {
  /** Token of the session that ends. */
  before: string | null;
  token: string;
  proof: Proof;
  req: Exchange;
  expiresAt: Date;
  pending?: boolean;
}

/** @returns the cookie of the device; null while the second factor is pending, which proves nothing */
async function replaceSession({ db, config }: Services, given: NewSession): Promise<string | null> {
  const { before, token, proof, req, expiresAt, pending = false } = given;
  const userId = proof.user.id;
  const device = await db.$transaction(async (tx) => {
    await checkProof(tx, proof);
    const ended =
      before === null ? null : await tx.userSession.deleteMany({ where: { tokenHash: hashToken(before) } });
    if (proof.completes && ended?.count !== 1) throw new Problem(proof.stale);
    await tx.userSession.create({
      data: {
        id: newUuid(),
        userId,
        tokenHash: hashToken(token),
        pending,
        byPassword: proof.by === 'password',
        address: req.ip ?? '',
        userAgent: (req.headers['user-agent'] ?? '').slice(0, MAX_USER_AGENT),
        expiresAt,
      },
    });
    // Sign-ins that wait for a code end no session: who knows the password only could end all of them.
    const old = await tx.userSession.findMany({
      where: { userId, pending },
      select: { id: true },
      orderBy: { id: 'desc' },
      skip: MAX_SESSIONS,
    });
    if (old.length > 0) await tx.userSession.deleteMany({ where: { id: { in: old.map(({ id }) => id) } } });
    if (pending) return null;
    await auditSignIn(tx, proof, req);
    return rememberDevice(tx, { config, req, userId });
  });
  if (!pending) req.subject = toPublicId('user', userId);
  return device;
}

const auditSignIn = (tx: Prisma.TransactionClient, { user, by }: Proof, req: Exchange): Promise<void> =>
  audit(tx, {
    actor: `user:${user.id}`,
    accountId: null,
    action: 'user.sign-in',
    subject: user.id,
    detail: { by, address: req.ip ?? '' },
  });

/**
 * A change of password, second factor or passkeys locks the user and ends the sessions in one transaction. The lock orders it: the
 * session exists before the change and ends with it, or the sign-in sees the change.
 * @throws Problem
 */
async function checkProof(tx: Prisma.TransactionClient, { user, stale, passkeyId }: Proof): Promise<void> {
  const same = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM users WHERE id = ${user.id}::uuid AND password_hash IS NOT DISTINCT FROM ${user.passwordHash}
      AND totp_confirmed_at IS NOT DISTINCT FROM ${user.totpConfirmedAt} FOR NO KEY UPDATE`;
  if (same.length === 0) throw new Problem(stale);
  if (passkeyId === undefined) return;
  const passkeys = await tx.passkey.count({
    where: { userId: user.id, ...(passkeyId !== null && { id: passkeyId }) },
  });
  if (passkeys > 0 !== (passkeyId !== null)) throw new Problem(stale);
}

/**
 * Called under the lock of the user, before a change of how the person signs in. A change that ends the sessions locks the user
 * too, so a request of a former holder that it overtakes changes nothing.
 * @throws Problem `unauthorized` if the session has ended
 */
export async function requireOpenSession(tx: Prisma.TransactionClient, id: string): Promise<void> {
  if ((await tx.userSession.count({ where: { id } })) === 0) throw new Problem('unauthorized');
}

/** @throws Problem `unauthorized` if the session has ended */
export async function viewSession(
  { db, config }: Pick<Services, 'db' | 'config'>,
  token: string,
): Promise<SessionOut> {
  const found = await db.userSession.findUnique({
    where: { tokenHash: hashToken(token) },
    include: { user: WITH_PASSKEY },
  });
  if (!found) throw new Problem('unauthorized');
  const { user, ...session } = found;
  const accounts = await listAccounts({ db, config }, user);
  const idleAt = session.lastSeenAt.getTime() + IDLE_HOURS * HOUR_MS;
  return {
    user: viewUser(user),
    csrf_token: deriveCsrfToken(token),
    accounts,
    has_more_accounts: accounts.length === MAX_ACCOUNTS,
    requires_mfa: config.adminMfa && user.isPlatformAdmin,
    expires_at: new Date(Math.min(idleAt, session.expiresAt.getTime())).toISOString(),
  };
}

/** A user, and whether there is a passkey. */
export const WITH_PASSKEY = { include: { passkeys: { select: { id: true }, take: 1 } } } as const;

export function viewUser(user: Prisma.UserGetPayload<typeof WITH_PASSKEY>): SessionOut['user'] {
  return {
    id: toPublicId('user', user.id),
    email: user.email,
    name: user.name,
    language: user.language as Language,
    is_platform_admin: user.isPlatformAdmin,
    has_totp: user.totpConfirmedAt !== null,
    has_passkey: user.passkeys.length > 0,
    has_password: user.passwordHash !== null,
  };
}

/**
 * Accounts that a person may use, with the rights there. An administrator of the platform without a required second factor
 * learns only of the own ones.
 */
export async function listAccounts(
  { db, config }: Pick<Services, 'db' | 'config'>,
  user: User,
  search?: string,
): Promise<SessionOut['accounts']> {
  const { id, isPlatformAdmin } = user;
  const lacksFactor = config.adminMfa && isPlatformAdmin && (await listFactors(db, user)).length === 0;
  const usable = isPlatformAdmin && !lacksFactor ? {} : { members: { some: { userId: id } } };
  const rows = await db.account.findMany({
    where: { AND: [usable, matchAccounts(search)] },
    include: { members: { where: { userId: id }, include: { instances: true } } },
    orderBy: { name: 'asc' },
    take: MAX_ACCOUNTS,
  });
  return rows.map(({ id: accountId, name, requiresMfa, members: [member] }) => {
    const role: Role = !isPlatformAdmin && member && isRole(member.role) ? member.role : 'owner';
    const { scopes, permissions } = ROLE_RIGHTS[role];
    const restricted = !isPlatformAdmin && member?.restricted === true;
    return {
      id: toPublicId('account', accountId),
      name,
      role,
      scopes: [...scopes],
      permissions: [...permissions],
      instance_ids: restricted
        ? member.instances.map(({ instanceId }) => toPublicId('instance', instanceId))
        : null,
      requires_mfa: requiresMfa,
    };
  });
}
