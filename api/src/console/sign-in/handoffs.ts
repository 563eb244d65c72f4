import { newUuid } from '@gwk/core/ids';
import { Problem } from '@gwk/core/problems';
import { hashToken, newToken } from '../../accounts/sessions.js';
import type { Queryable } from '../../database/database.js';
import type { Prisma } from '../../generated/prisma/client.js';

/** Creates a one-time link that signs a user in. The token is in the fragment, which browsers do not send. */
export async function createHandoff(
  db: Pick<Prisma.TransactionClient, 'handoff'>,
  userId: string,
  { baseUrl, seconds }: { baseUrl: string; seconds: number },
): Promise<{ url: string; expires_at: string }> {
  const token = newToken();
  const expiresAt = new Date(Date.now() + seconds * 1000);
  await db.handoff.create({ data: { id: newUuid(), userId, tokenHash: hashToken(token), expiresAt } });
  return {
    url: `${baseUrl.replace(/\/$/, '')}/console/handoff#token=${token}`,
    expires_at: expiresAt.toISOString(),
  };
}

/**
 * Uses up a token and returns its user. One statement, so that of two uses at once only one succeeds.
 * @throws Problem `handoff-invalid`
 */
export async function redeemHandoff(db: Queryable, token: string): Promise<string> {
  const [found] = await db.$queryRaw<{ userId: string }[]>`
    DELETE FROM handoffs WHERE token_hash = ${hashToken(token)} AND expires_at > now() RETURNING user_id AS "userId"`;
  if (!found) throw new Problem('handoff-invalid');
  return found.userId;
}
