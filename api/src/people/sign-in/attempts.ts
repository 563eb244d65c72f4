import { hash } from 'node:crypto';
import { getNetwork } from '@gwk/core/http/client-network';
import { newUuid } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import type { AuditedChange } from '../../accounts/audit-log.js';
import type { Queryable } from '../../database/database.js';
import { Prisma } from '../../generated/prisma/client.js';

/** Failures or requests within minutes. */
interface Limit {
  name: 'subject' | 'address' | 'day';
  failures: number;
  minutes: number;
}

const PER_SUBJECT: Limit = { name: 'subject', failures: 10, minutes: 15 };
const PER_ADDRESS: Limit = { name: 'address', failures: 50, minutes: 15 };
/** Ten failures in 15 minutes are 960 a day, which finds a code of six digits within a year, and many passwords. */
const CODES_PER_DAY: Limit = { name: 'day', failures: 20, minutes: 1_440 };
const PASSWORDS_PER_DAY: Limit = { name: 'day', failures: 50, minutes: 1_440 };

/** Invitations by e-mail, of all accounts together. */
const INVITATIONS_PER_EMAIL: Limit = { name: 'subject', failures: 1, minutes: 60 };

/** Requests of a reset link. */
const RESETS_PER_EMAIL: Limit = { name: 'subject', failures: 3, minutes: 60 };
const RESETS_PER_ADDRESS: Limit = { name: 'address', failures: 20, minutes: 60 };

const hashSubject = (subject: string) => hash('sha256', subject, 'buffer');

/** Subject of wrong codes. They have their own, so that they lock only the code and not the password. */
export const codeSubject = (userId: string): string => `code:${userId}`;

export interface Attempt {
  /** E-mail or device (`countPasswordBy`), `codeSubject` for a second factor, `passkey:` and the id of a passkey alone, or `provider:` and a sign-in. */
  subject: string;
  /** Null: no user has the e-mail. */
  userId: string | null;
  client: string;
  step:
    | 'password'
    | 'code'
    | 'password-change'
    | 'totp-setup'
    | 'totp-removal'
    | 'passkey'
    | 'passkey-change'
    | 'provider';
  /**
   * A code of six digits, of which a person who knows the password may try 20 a day. Nobody without the password reaches
   * this step, and backup codes still work.
   */
  isGuessable?: boolean;
  /** The failures are counted by device, so those of others from the same address do not matter. */
  isKnownDevice?: boolean;
}

/** The limit of failures a day of each step. Null: 15 minutes are enough, because the secret has too many bits to try. */
const DAILY: Readonly<Record<Attempt['step'], Limit | null>> = {
  password: PASSWORDS_PER_DAY,
  'password-change': PASSWORDS_PER_DAY,
  'totp-setup': PASSWORDS_PER_DAY,
  'passkey-change': PASSWORDS_PER_DAY,
  code: CODES_PER_DAY,
  'totp-removal': CODES_PER_DAY,
  passkey: null,
  provider: null,
};

/**
 * Verifies a password or a code within the limits. An attempt counts as failed before it is verified, so that parallel
 * attempts cannot pass a limit. Attempts with unknown e-mails count too, because a lock must not reveal who is a user.
 * @throws Problem `login-locked`
 */
export async function verifyWithinLimits(
  db: Queryable,
  attempt: Attempt,
  verify: () => Promise<boolean>,
): Promise<boolean> {
  const { id, reached } = await beginAttempt(db, attempt);
  let isRight: boolean;
  try {
    isRight = await verify();
  } catch (error) {
    // Nothing was verified, as when a provider is down.
    await forgetAttempt(db, id);
    throw error;
  }
  await (isRight ? forgetAttempt(db, id) : recordFailure(db, { ...attempt, id, reached }));
  return isRight;
}

interface Begun {
  id: string;
  /** The limits that this attempt reaches if it fails. */
  reached: Limit['name'][];
}

async function beginAttempt(db: Queryable, { client, ...attempt }: Attempt): Promise<Begun> {
  const subject = hashSubject(attempt.subject);
  const address = getNetwork(client);
  const daily = DAILY[attempt.step];
  const id = await insertAttempt(db, { subject, address, minutes: (daily ?? PER_SUBJECT).minutes });
  const bySubject = Prisma.sql`subject = ${subject}`;
  const parts = [
    selectReached(PER_SUBJECT, bySubject),
    ...(attempt.isKnownDevice ? [] : [selectReached(PER_ADDRESS, Prisma.sql`address = ${address}`)]),
    // Backup codes still work after too many codes of the app.
    ...(daily && (daily !== CODES_PER_DAY || attempt.isGuessable) ? [selectReached(daily, bySubject)] : []),
  ];
  const rows = await readReached(db, parts);
  const beyond = rows.filter(({ isBeyond }) => isBeyond);
  if (beyond.length === 0) return { id, reached: rows.map(({ name }) => name) };
  // Attempts during a lock do not extend it.
  await forgetAttempt(db, id);
  throw new Problem('login-locked', { retryAfter: Math.max(...beyond.map(({ seconds }) => seconds)) });
}

/**
 * Counts a request of a reset link, alike for known and unknown e-mails.
 * @returns whether a mail may be sent: at most 3 an hour for an e-mail
 * @throws Problem `rate-limited` beyond 20 an hour for an address
 */
export async function countResetRequest(db: Queryable, email: string, client: string): Promise<boolean> {
  const subject = hashSubject(`reset:${email}`);
  // Requests are no failed sign-ins of the address.
  const address = `reset:${getNetwork(client)}`;
  const id = await insertAttempt(db, { subject, address, minutes: RESETS_PER_EMAIL.minutes });
  const beyond = (
    await readReached(db, [
      selectReached(RESETS_PER_EMAIL, Prisma.sql`subject = ${subject}`),
      selectReached(RESETS_PER_ADDRESS, Prisma.sql`address = ${address}`),
    ])
  ).filter(({ isBeyond }) => isBeyond);
  // Refused requests do not extend the lock, or three an hour would deny a person the link for ever.
  if (beyond.length > 0) await forgetAttempt(db, id);
  const ofAddress = beyond.find(({ name }) => name === 'address');
  if (ofAddress) throw new Problem('rate-limited', { retryAfter: ofAddress.seconds });
  return beyond.length === 0;
}

/**
 * Counts an invitation that is about to be e-mailed, in a transaction: of two at once, only the first is e-mailed.
 * @returns id of the attempt; null: the person got an invitation within the last hour
 */
export async function countInvitationMail(
  tx: Prisma.TransactionClient,
  email: string,
): Promise<string | null> {
  const subject = hashSubject(`invitation:${email}`);
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`invitation ${email}`}, 0))`;
  const reached = await readReached(tx, [
    selectReached(INVITATIONS_PER_EMAIL, Prisma.sql`subject = ${subject}`),
  ]);
  if (reached.length > 0) return null;
  // No address: the limit is of the invited person, for all inviters.
  return insertAttempt(tx, { subject, address: '', minutes: INVITATIONS_PER_EMAIL.minutes });
}

async function insertAttempt(
  db: Queryable,
  row: { subject: Uint8Array; address: string; minutes: number },
): Promise<string> {
  const id = newUuid();
  await db.$executeRaw`
    INSERT INTO sign_in_failures (id, subject, address, expires_at)
    VALUES (${id}::uuid, ${row.subject}, ${row.address}, now() + make_interval(mins => ${row.minutes}::int))`;
  return id;
}

interface Reached {
  name: Limit['name'];
  isBeyond: boolean;
  seconds: number;
}

const readReached = (db: Queryable, parts: Prisma.Sql[]): Promise<Reached[]> =>
  db.$queryRaw<Reached[]>(Prisma.join(parts, ' UNION ALL '));

/** The failure that reaches the limit, and the one beyond it, until whose end all are refused. */
const selectReached = ({ name, failures, minutes }: Limit, condition: Prisma.Sql) => Prisma.sql`
  (SELECT ${name} AS name, row_number() OVER (ORDER BY at DESC) > ${failures} AS "isBeyond",
     extract(epoch FROM at + make_interval(mins => ${minutes}::int) - now())::float8 AS seconds
   FROM sign_in_failures WHERE ${condition} AND at > now() - make_interval(mins => ${minutes}::int)
   ORDER BY at DESC OFFSET ${failures - 1} LIMIT 2)`;

/** Deletes an attempt that does not count. */
export async function forgetAttempt(db: Queryable, id: string): Promise<void> {
  await db.$executeRaw`DELETE FROM sign_in_failures WHERE id = ${id}::uuid`;
}

/**
 * Writes a failure of a user to the audit log. One statement that writes for unknown e-mails too, so that its time does not
 * reveal who is a user.
 */
async function recordFailure(
  db: Queryable,
  { id, userId, client, step, reached }: Attempt & Begun,
): Promise<void> {
  const detail = { step, address: client };
  const ofUser = (action: string): AuditedChange[] =>
    userId === null ? [] : [{ actor: 'anyone', accountId: null, action, subject: userId, detail }];
  const entries: AuditedChange[] = [
    ...ofUser('user.sign-in-failed'),
    ...(reached.some((name) => name !== 'address') ? ofUser('user.sign-in-locked') : []),
    ...(reached.includes('address')
      ? [{ actor: 'anyone', accountId: null, action: 'address.sign-in-locked', subject: getNetwork(client) }]
      : []),
  ];
  const rows = JSON.stringify(entries.map((entry) => ({ id: newUuid(), detail: {}, ...entry })));
  await db.$executeRaw`
    WITH written AS (UPDATE sign_in_failures SET at = at WHERE id = ${id}::uuid)
    INSERT INTO audit_entries (id, actor, action, subject, detail)
    SELECT * FROM jsonb_to_recordset(${rows}::jsonb) AS e (id uuid, actor text, action text, subject text, detail jsonb)`;
}

/** Deletes all failures of e-mails or of `codeSubject`, which ends their lock. */
export async function forgetFailures(db: Queryable, of: readonly string[]): Promise<void> {
  const subjects = of.map(hashSubject);
  await db.$executeRaw`DELETE FROM sign_in_failures WHERE subject = ANY (${subjects}::bytea[])`;
}
