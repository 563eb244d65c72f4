import type { Command } from 'commander';
import type { Database } from '../database/database.js';
import { audit, LONG, print, withDatabase } from './run.js';

/**
 * After a restore the ratchets are those of the backup. A step that is taken twice is ignored by who has seen the first
 * one, without a word: what a number sends would never be shown. So the ratchets are forgotten, and each conversation
 * begins a new one with its next message; whoever writes on an old one is asked to send again. The identity of a number
 * stays, and with it its link to the phone.
 */
const RATCHETS = ['session', 'sender-key', 'sender-key-memory'];

export function registerRestored(program: Command): void {
  program
    .command('restored')
    .description(
      'after a backup was restored, before engines start: numbers begin new ratchets, old engines end',
    )
    .addHelpText(
      'after',
      '\nDATABASE_URL names the database. Prints JSON. docs/operate.md tells of the rest.\n',
    )
    .action(() => withDatabase('restored', async (db) => print(await afterRestore(db)), LONG));
}

/**
 * In pieces that are done once they are done: a large database takes longer than any transaction should. Who is
 * interrupted runs it again; the trail tells of those that came to the end.
 */
async function afterRestore(db: Database) {
  const live = { revokedAt: null };
  const tokens = await db.engineToken.updateMany({ where: live, data: { revokedAt: new Date() } });
  const detail = { ratchets: await forgetRatchets(db), engine_tokens: tokens.count };
  await audit(db, { accountId: null, action: 'database.restored', subject: 'database', detail });
  return detail;
}

const AT_ONCE = 5_000;
type Key = [instanceId: string, type: string, key: string];
const BEFORE_ALL: Key = ['00000000-0000-0000-0000-000000000000', '', ''];

/** In the order of their keys, so that what has been deleted is not read again. */
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
