import { newUuid } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { hashToken, newToken } from '../../accounts/sessions.js';
import type { Queryable } from '../../database/database.js';
import { toFields } from '../../database/model-columns.js';
import type { Prisma, User } from '../../generated/prisma/client.js';
import { makeLink } from '../links.js';

/**
 * Creates a one-time link that signs a user in.
 * @param account public id of the account to open
 */
export async function createHandoff(
  db: Pick<Prisma.TransactionClient, 'handoff'>,
  userId: string,
  { baseUrl, seconds, account }: { baseUrl: string; seconds: number; account?: string },
): Promise<{ url: string; expires_at: string }> {
  const token = newToken();
  const expiresAt = new Date(Date.now() + seconds * 1000);
  await db.handoff.create({ data: { id: newUuid(), userId, tokenHash: hashToken(token), expiresAt } });
  return {
    url: makeLink(baseUrl, 'handoff', { token, ...(account && { account }) }),
    expires_at: expiresAt.toISOString(),
  };
}

/**
 * Returns the person of a link without using it up.
 * @throws Problem `handoff-invalid`
 */
export async function findHandoffPerson(
  { handoff }: Pick<Prisma.TransactionClient, 'handoff'>,
  token: string,
) {
  const found = await handoff.findFirst({
    where: { tokenHash: hashToken(token), purpose: 'sign-in', expiresAt: { gt: new Date() } },
    select: { user: { select: { email: true, name: true } } },
  });
  if (!found) throw new Problem('handoff-invalid');
  return found.user;
}

/**
 * Uses up a token and returns its user. One statement, so that of two uses at once only one succeeds, and so that a change of
 * the password, which deletes the token, comes before both or after both.
 * @throws Problem `handoff-invalid`
 */
export async function redeemHandoff(db: Queryable, token: string): Promise<User> {
  const [user] = toFields<User>(
    await db.$queryRaw`
    DELETE FROM handoffs h USING users u
    WHERE h.token_hash = ${hashToken(token)} AND h.purpose = 'sign-in' AND h.expires_at > now() AND u.id = h.user_id RETURNING u.*`,
  );
  if (!user) throw new Problem('handoff-invalid');
  return user;
}
