import { hash, randomBytes } from 'node:crypto';
import { fromPublicId } from '@gwk/core/ids/ids';
import { ROLE_RIGHTS, type Permission, type Role } from '../roles.js';
import type { Database, Queryable } from '../database/database.js';
import { audit, byCaller } from './audit-log.js';
import type { Caller } from './caller.js';
import { CredentialCache } from './credential-cache.js';

/** A session ends 12 h after its last request, and 7 days after the sign-in. */
export const IDLE_HOURS = 12;
export const MAX_DAYS = 7;
const TOKEN_FORM = /^[A-Za-z0-9_-]{43}$/;
/** Stands for no account in the name of a cache entry. */
const NONE = '00000000-0000-0000-0000-000000000000';

/** A signed-in person, and the account that the request names. */
export interface Session {
  id: string;
  userId: string;
  isPlatformAdmin: boolean;
  hasSecondFactor: boolean;
  csrfToken: string;
  /** Null: the request names no account, or one that the person may not use. */
  access: AccountAccess | null;
}

interface AccountAccess {
  caller: Caller;
  role: Role;
  permissions: ReadonlySet<Permission>;
  /** The account requires a second factor, and the person has none. */
  lacksMfa: boolean;
  /** An administrator of the platform enters an account of others for the first time in this session. */
  isFirstVisit: boolean;
}

/** Creates the token of a cookie or link. It is stored as its hash only. */
export const newToken = (): string => randomBytes(32).toString('base64url');

export const hashToken = (token: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(hash('sha256', token, 'buffer'));

/** The CSRF token derives from the session's token, so that it belongs to one session and needs no column. */
export const deriveCsrfToken = (token: string): string => hash('sha256', `csrf ${token}`, 'base64url');

/** Looks sessions up by their token. A change of the session, its person or the role holds on every replica within 2 s. */
export class SessionDirectory {
  readonly #database: Queryable;
  readonly #cache: CredentialCache<Omit<Session, 'csrfToken'>>;

  constructor(database: Queryable, now: () => number) {
    this.#database = database;
    this.#cache = new CredentialCache((names) => findSessions(database, names), now);
  }

  /** @param account public id of the account that the request names */
  async find(token: string, account: string | undefined): Promise<Session | null> {
    if (!TOKEN_FORM.test(token)) return null;
    const found = await this.#cache.find(nameEntry(token, account));
    return found && { ...found, csrfToken: deriveCsrfToken(token) };
  }

  /** Looks a session up without the cache. */
  async findFresh(token: string, account: string | undefined): Promise<Session | null> {
    const [found] = await findSessions(this.#database, [nameEntry(token, account)]);
    return found ? { ...found, csrfToken: deriveCsrfToken(token) } : null;
  }

  /** Forgets what it has read after a change in this process. */
  clear(): void {
    this.#cache.clear();
  }
}

const nameEntry = (token: string, account: string | undefined): string =>
  `${hash('sha256', token, 'hex')} ${(account === undefined ? null : fromPublicId('account', account)) ?? NONE}`;

interface SessionRow {
  name: string;
  sessionId: string;
  userId: string;
  isPlatformAdmin: boolean;
  hasSecondFactor: boolean;
  accountId: string | null;
  accountName: string;
  requestsPerMinute: number | null;
  suspended: boolean;
  requiresMfa: boolean;
  visited: boolean;
  role: Role | null;
  restricted: boolean;
  instanceIds: string[];
}

/** Finds any number of sessions with one statement, and notes once a minute that they are in use. */
async function findSessions(
  database: Queryable,
  names: readonly string[],
): Promise<(Omit<Session, 'csrfToken'> | null)[]> {
  const wanted = [...new Set(names)];
  const hashes = wanted.map((name) => Buffer.from(name.split(' ')[0]!, 'hex'));
  const accounts = wanted.map((name) => name.split(' ')[1]!);
  const rows = await database.$queryRaw<SessionRow[]>`
    WITH wanted AS (
      SELECT * FROM unnest(${wanted}::text[], ${hashes}::bytea[], ${accounts}::uuid[]) AS w (name, hash, account_id)),
    live AS (
      SELECT s.* FROM user_sessions s
      WHERE s.token_hash IN (SELECT hash FROM wanted) AND NOT s.pending AND s.expires_at > now()
        AND s.last_seen_at > now() - make_interval(hours => ${IDLE_HOURS}::int)),
    seen AS (
      UPDATE user_sessions s SET last_seen_at = now() FROM live l
      WHERE s.id = l.id AND l.last_seen_at < now() - interval '1 minute')
    SELECT w.name, l.id AS "sessionId", u.id AS "userId", u.is_platform_admin AS "isPlatformAdmin",
      u.totp_confirmed_at IS NOT NULL OR EXISTS (SELECT FROM passkeys p WHERE p.user_id = u.id) AS "hasSecondFactor", a.id AS "accountId", a.name AS "accountName",
      a.requests_per_minute AS "requestsPerMinute", a.suspended_at IS NOT NULL AS suspended,
      a.requires_mfa AS "requiresMfa", a.id = ANY (l.visited_accounts) AS visited,
      m.role, coalesce(m.restricted, false) AS restricted,
      ARRAY(SELECT i.instance_id::text FROM member_instances i
        WHERE i.account_id = a.id AND i.user_id = u.id) AS "instanceIds"
    FROM wanted w JOIN live l ON l.token_hash = w.hash JOIN users u ON u.id = l.user_id
    LEFT JOIN accounts a ON a.id = w.account_id LEFT JOIN members m ON m.account_id = a.id AND m.user_id = u.id`;
  const byName = new Map(rows.map((row) => [row.name, sessionOf(row)]));
  return names.map((name) => byName.get(name) ?? null);
}

function sessionOf(row: SessionRow): Omit<Session, 'csrfToken'> {
  const { sessionId: id, userId, isPlatformAdmin, hasSecondFactor } = row;
  return { id, userId, isPlatformAdmin, hasSecondFactor, access: accessOf(row) };
}

/** An administrator of the platform is an owner of every account. */
function accessOf(row: SessionRow): AccountAccess | null {
  const role = row.isPlatformAdmin ? 'owner' : row.role;
  if (row.accountId === null || role === null) return null;
  const { scopes, permissions } = ROLE_RIGHTS[role];
  const { sessionId: id, userId, accountId, accountName, requestsPerMinute, suspended } = row;
  const caller: Caller = {
    credential: { kind: 'session', id, userId },
    accountId,
    accountName,
    scopes: new Set(scopes),
    instances: row.restricted && !row.isPlatformAdmin ? new Set(row.instanceIds) : null,
    requestsPerMinute,
    suspended,
  };
  return {
    caller,
    role,
    permissions: new Set(permissions),
    lacksMfa: row.requiresMfa && !row.hasSecondFactor,
    isFirstVisit: row.role === null && !row.visited,
  };
}

/** Writes the audit entry of a first visit, once: the update locks the session. */
export async function recordVisit(db: Database, { id, access }: Session): Promise<void> {
  if (!access?.isFirstVisit) return;
  const { caller } = access;
  const { accountId } = caller;
  await db.$transaction(async (tx) => {
    const visits = await tx.$executeRaw`
      UPDATE user_sessions SET visited_accounts = array_append(visited_accounts, ${accountId}::uuid)
      WHERE id = ${id}::uuid AND NOT ${accountId}::uuid = ANY (visited_accounts)`;
    if (visits > 0) await audit(tx, byCaller(caller, 'account.visit', accountId));
  });
}

/** Role that a session still has for an instance, for streams that stay open; null: no access. */
export async function findRoleFor(
  database: Queryable,
  sessionId: string,
  { accountId, instanceId }: { accountId: string; instanceId: string },
): Promise<Role | null> {
  const [found] = await database.$queryRaw<{ role: Role }[]>`
    SELECT CASE WHEN u.is_platform_admin THEN 'owner' ELSE m.role END AS role
    FROM user_sessions s JOIN users u ON u.id = s.user_id
    LEFT JOIN members m ON m.user_id = u.id AND m.account_id = ${accountId}::uuid
    WHERE s.id = ${sessionId}::uuid AND s.expires_at > now() AND (u.is_platform_admin OR NOT m.restricted OR EXISTS (
      SELECT FROM member_instances i
      WHERE i.account_id = m.account_id AND i.user_id = u.id AND i.instance_id = ${instanceId}::uuid))`;
  return found?.role ?? null;
}
