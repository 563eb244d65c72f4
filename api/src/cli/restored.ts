import type { Command } from 'commander';
import type { Prisma } from '../generated/prisma/client.js';
import { audit, print, withDatabase } from './run.js';

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
    .action(() =>
      withDatabase('restored', async (db) => print(await db.$transaction((tx) => afterRestore(tx)))),
    );
}

async function afterRestore(tx: Prisma.TransactionClient) {
  const ratchets = await tx.sessionKey.deleteMany({ where: { type: { in: RATCHETS } } });
  const live = { revokedAt: null };
  const tokens = await tx.engineToken.updateMany({ where: live, data: { revokedAt: new Date() } });
  const detail = { ratchets: ratchets.count, engine_tokens: tokens.count };
  await audit(tx, { accountId: null, action: 'database.restored', subject: 'database', detail });
  return detail;
}
