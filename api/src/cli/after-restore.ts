import type { Command } from 'commander';
import type { Database } from '../database/database.js';
import { audit, LONG, printResult } from './run.js';

const RATCHETS = ['session', 'sender-key', 'sender-key-memory'];

/**
 * Restored Signal sessions are stale: recipients silently ignore a message whose ratchet step they have seen already. So
 * this command deletes the sessions. Each conversation starts a new one with its next message, and senders that use an old
 * session receive a retry request. The identity of the instance and its link to the phone stay.
 */
export function registerAfterRestore(program: Command): void {
  program
    .command('after-restore')
    .description(
      'run once after restoring a backup, before engines start: resets Signal sessions, revokes old engines, and ends the sessions, links and invitations of people',
    )
    .addHelpText(
      'after',
      '\nDATABASE_URL names the database. Prints JSON. See docs/operate.md for the whole procedure.\n',
    )
    .action(() => printResult('after-restore', afterRestore, LONG));
}

/**
 * Works in batches, because a large database would need too long a transaction. Run it again after an interruption; the audit
 * log records completed runs.
 */
async function afterRestore(db: Database) {
  // First, because the backup revives sessions that have ended, and links and invitations that have been used.
  const people = {
    user_sessions: (await db.userSession.deleteMany()).count,
    handoffs: (await db.handoff.deleteMany()).count,
    invitations: (await db.invitation.deleteMany()).count,
  };
  const live = { revokedAt: null };
  const tokens = await db.engineToken.updateMany({ where: live, data: { revokedAt: new Date() } });
  // The backup revives a pin too, which may be too old for the network.
  const { pinnedVersion } = await db.clientVersionState.findUniqueOrThrow({ where: { only: true } });
  await db.$executeRaw`SELECT gwk_raise_event_positions()::text`;
  const counts = { ratchets: await forgetRatchets(db), engine_tokens: tokens.count, ...people };
  const detail = { ...counts, pinned_client_version: pinnedVersion };
  await audit(db, { accountId: null, action: 'database.restored', subject: 'database', detail });
  return detail;
}

const AT_ONCE = 5_000;
type Key = [instanceId: string, type: string, key: string];
const BEFORE_ALL: Key = ['00000000-0000-0000-0000-000000000000', '', ''];

/** Deletes in key order, so that no batch reads deleted rows again. */
async function forgetRatchets(db: Database): Promise<number> {
  let [amount, after]: [number, Key | null] = [0, BEFORE_ALL];
  while (after) {
    const [done]: { gone: number; last: Key | null }[] = await db.$queryRaw`
      WITH part AS MATERIALIZED (
        SELECT instance_id, type, key FROM session_keys
        WHERE type = ANY (${RATCHETS}::text[])
          AND (instance_id, type, key) > (${after[0]}::uuid, ${after[1]}::text, ${after[2]}::text)
        ORDER BY instance_id, type, key LIMIT ${AT_ONCE}),
      gone AS (
        DELETE FROM session_keys k USING part p
        WHERE (k.instance_id, k.type, k.key) = (p.instance_id, p.type, p.key) RETURNING 1)
      SELECT (SELECT count(*)::integer FROM gone) AS gone,
        (SELECT ARRAY[instance_id::text, type, key] FROM part
         ORDER BY instance_id DESC, type DESC, key DESC LIMIT 1) AS last`;
    amount += done!.gone;
    after = done!.last;
  }
  return amount;
}
