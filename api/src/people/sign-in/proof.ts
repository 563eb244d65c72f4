import { Problem } from '@gwk/core/problems/problems';
import type { Session } from '../../accounts/sessions.js';
import type { Database } from '../../database/database.js';
import type { User } from '../../generated/prisma/client.js';
import type { Exchange } from '../../http/exchange.js';
import type { Services } from '../../http/services.js';
import { verifyWithinLimits } from './attempts.js';
import { countPasswordBy } from './devices.js';
import { listFactors } from './sessions.js';

/** How long after a sign-in a person without a password may change passkeys, set up codes, or set a password. */
const RECENT_MS = 15 * 60_000;

/**
 * Proves that the person, and not only a stolen session, changes the second factor: by the password, or without one by a
 * recent sign-in.
 * @returns the person
 * @throws Problem `invalid-credentials`, `login-locked` or `recent-sign-in-required`
 */
export async function provePerson(
  services: Services,
  exchange: Exchange,
  {
    session,
    password,
    step,
  }: { session: Session; password: string | null; step: 'passkey-change' | 'totp-setup' },
): Promise<User> {
  const { db, passwords, config } = services;
  const user = await db.user.findUniqueOrThrow({ where: { id: session.userId } });
  if (user.passwordHash === null || !config.oidcPasswords) {
    await requireRecentSignIn(db, session);
    return user;
  }
  const { id: userId, email, passwordHash } = user;
  const counted = await countPasswordBy(services, exchange, { email, userId });
  const attempt = { ...counted, userId, client: exchange.ip ?? '', step };
  const isRight = await verifyWithinLimits(db, attempt, () => passwords.verify(password ?? '', passwordHash));
  if (!isRight) throw new Problem('invalid-credentials');
  return user;
}

/**
 * A person who knows only the password must not pass the rule of an account, or that for administrators of the platform,
 * with a factor of their own. So the first factor needs a sign-in by a link, an invitation or the provider, a new password
 * by a link or an administrator, or the removal of the former factor with a code.
 * @throws Problem `mfa-needs-link`
 */
export async function checkFirstFactor(
  { db, config }: Pick<Services, 'db' | 'config'>,
  user: User,
  session: Session,
): Promise<void> {
  const { byPassword } = await db.userSession.findUniqueOrThrow({ where: { id: session.id } });
  const isAllowed = !byPassword || (user.factorSetUpUntil !== null && user.factorSetUpUntil > new Date());
  if (isAllowed || (await listFactors(db, user)).length > 0) return;
  if (config.adminMfa && user.isPlatformAdmin) throw new Problem('mfa-needs-link');
  const own = user.isPlatformAdmin ? {} : { members: { some: { userId: user.id } } };
  if ((await db.account.count({ where: { requiresMfa: true, ...own } })) > 0)
    throw new Problem('mfa-needs-link');
}

/** @throws Problem `recent-sign-in-required` */
export async function requireRecentSignIn(db: Database, { id }: Session): Promise<void> {
  const { createdAt } = await db.userSession.findUniqueOrThrow({ where: { id } });
  if (createdAt.getTime() < Date.now() - RECENT_MS) throw new Problem('recent-sign-in-required');
}
