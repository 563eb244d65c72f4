import { hashToken, newToken } from '../../accounts/sessions.js';
import type { Queryable } from '../../database/database.js';
import type { Prisma } from '../../generated/prisma/client.js';
import type { Exchange } from '../../http/exchange.js';
import type { ApiConfig } from '../../http/services.js';
import { SessionCookie } from '../../http/session-cookie.js';

const COOKIE = 'gwk_device';
const DAYS = 180;
const DAY_S = 86_400;
/** Devices of one user; the one that signed in longest ago is forgotten. */
const MAX_DEVICES = 20;
/** Nobody, so that an unknown e-mail costs the same query. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

const cookieOf = (config: ApiConfig): SessionCookie => new SessionCookie(config, COOKIE);

/** Returns the token of the browser's cookie; null: none. */
export const readDevice = (config: ApiConfig, { headers }: Exchange): string | null =>
  cookieOf(config).read(headers.cookie);

/**
 * Whose failures an attempt with a password counts among: those of the e-mail, or of the device if the person has signed in
 * there before. So strangers who lock the e-mail do not lock the person out.
 */
export async function countPasswordBy(
  { db, config }: { db: Queryable; config: ApiConfig },
  req: Exchange,
  { email, userId }: { email: string; userId: string | null },
): Promise<{ subject: string; isKnownDevice: boolean }> {
  const token = readDevice(config, req);
  if (token === null) return { subject: email, isKnownDevice: false };
  const id = userId ?? NOBODY;
  const found = await db.$queryRaw<unknown[]>`
    SELECT 1 FROM known_devices
    WHERE token_hash = ${hashToken(token)} AND user_id = ${id}::uuid AND expires_at > now()`;
  return found.length === 0
    ? { subject: email, isKnownDevice: false }
    : { subject: `device:${id}:${token}`, isKnownDevice: true };
}

/**
 * Notes a completed sign-in, under the lock of the user. The token of the cookie is kept for other people of the browser; one
 * that gwk has not made is replaced.
 * @returns the cookie to set
 */
export async function rememberDevice(
  tx: Prisma.TransactionClient,
  { config, req, userId }: { config: ApiConfig; req: Exchange; userId: string },
): Promise<string> {
  const given = readDevice(config, req);
  const isOurs =
    given !== null && (await tx.knownDevice.count({ where: { tokenHash: hashToken(given) }, take: 1 })) > 0;
  const token = isOurs ? given : newToken();
  const place = { tokenHash: hashToken(token), userId };
  const expiresAt = new Date(Date.now() + DAYS * DAY_S * 1000);
  await tx.knownDevice.upsert({
    where: { tokenHash_userId: place },
    create: { ...place, expiresAt },
    update: { expiresAt },
  });
  const [, ...old] = await tx.knownDevice.findMany({
    where: { userId },
    orderBy: { expiresAt: 'desc' },
    skip: MAX_DEVICES - 1,
  });
  const hashes = old.map(({ tokenHash }) => tokenHash);
  if (hashes.length > 0) await tx.knownDevice.deleteMany({ where: { userId, tokenHash: { in: hashes } } });
  return cookieOf(config).set(token, DAYS * DAY_S);
}

/** After a change of the password, who has used the former one has no count of failures of their own. */
export async function forgetDevices(
  tx: Pick<Prisma.TransactionClient, 'knownDevice'>,
  userId: string,
  { but = null }: { but?: string | null } = {},
): Promise<void> {
  await tx.knownDevice.deleteMany({
    where: { userId, ...(but !== null && { tokenHash: { not: hashToken(but) } }) },
  });
}
