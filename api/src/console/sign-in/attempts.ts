import { hash } from 'node:crypto';
import { getNetwork } from '@gwk/core/client-network';
import { newUuid } from '@gwk/core/ids';
import { Problem } from '@gwk/core/problems';
import type { Queryable } from '../../database/database.js';

const PER_EMAIL = 10;
const PER_ADDRESS = 50;

const hashSubject = (subject: string) => hash('sha256', subject, 'buffer');

/** Subject of wrong codes. They have their own, so that they lock only the code and not the password. */
export const codeSubject = (userId: string): string => `code:${userId}`;

/**
 * Counts an attempt as failed before it is verified, so that parallel attempts cannot pass the limit. The caller deletes it
 * when it has succeeded. Attempts with unknown e-mails count too, because a lock must not reveal who is a user.
 * @param of e-mail, or `codeSubject` for a code
 * @returns the id of the attempt
 * @throws Problem `login-locked`
 */
export async function beginAttempt(db: Queryable, of: string, client: string): Promise<string> {
  const subject = hashSubject(of);
  const address = getNetwork(client);
  const id = newUuid();
  await db.$executeRaw`
    INSERT INTO sign_in_failures (id, subject, address) VALUES (${id}::uuid, ${subject}, ${address})`;
  const [found] = await db.$queryRaw<{ seconds: number | null }[]>`
    SELECT extract(epoch FROM max(locked.at) + interval '15 minutes' - now())::float8 AS seconds FROM (
      (SELECT at FROM sign_in_failures WHERE subject = ${subject} AND at > now() - interval '15 minutes'
       ORDER BY at DESC OFFSET ${PER_EMAIL} LIMIT 1)
      UNION ALL
      (SELECT at FROM sign_in_failures WHERE address = ${address} AND at > now() - interval '15 minutes'
       ORDER BY at DESC OFFSET ${PER_ADDRESS} LIMIT 1)) locked`;
  const { seconds } = found!;
  if (seconds === null) return id;
  // Attempts during a lock do not extend it.
  await forgetAttempt(db, id);
  throw new Problem('login-locked', { retryAfter: seconds });
}

/** Deletes an attempt that has succeeded. */
export async function forgetAttempt(db: Queryable, id: string): Promise<void> {
  await db.$executeRaw`DELETE FROM sign_in_failures WHERE id = ${id}::uuid`;
}

/** Deletes all failures of a user, which ends a lock of the user. */
export async function forgetFailures(
  db: Queryable,
  { id, email }: { id: string; email: string },
): Promise<void> {
  const subjects = [email, codeSubject(id)].map(hashSubject);
  await db.$executeRaw`DELETE FROM sign_in_failures WHERE subject = ANY (${subjects}::bytea[])`;
}
