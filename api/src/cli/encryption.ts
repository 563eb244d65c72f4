import type { Command } from 'commander';
import type { Database } from '../database/database.js';
import { audit, CommandError, LONG, print, printResult, readSealer } from './run.js';

/** `gwk encryption ...`: rotation of the encryption keys (docs/security.md). */
export function registerEncryption(program: Command): void {
  const encryption = program
    .command('encryption')
    .description('keys of the encryption at rest')
    .addHelpText(
      'after',
      '\nDATABASE_URL names the database, GWK_ENCRYPTION_KEYS the keys, newest first. Prints JSON with the ids of the keys.\n',
    );

  encryption
    .command('status')
    .description('count the values encrypted with each key')
    .action(() => printResult('encryption status', countValues, LONG));

  encryption
    .command('reencrypt')
    .description('re-encrypt all values with the first key and retire the other keys, while the gateway runs')
    .action(() => printResult('encryption reencrypt', reencryptValues, LONG));
}

async function countValues(db: Database) {
  const sealer = readSealer();
  const { countByKey } = await import('../database/encryption/reencrypt.js');
  const { current, rows } = await countByKey(db, sealer);
  return { current, configured: sealer.keys.map(({ id }) => id), encrypted: rows };
}

async function reencryptValues(db: Database) {
  const sealer = readSealer();
  const { checkEncryptionKeys } = await import('../database/key-check.js');
  await checkEncryptionKeys(db, sealer);
  const { reencrypt } = await import('../database/encryption/reencrypt.js');
  const done = await reencrypt(db, sealer, {
    note: (tx, detail) =>
      audit(tx, { accountId: null, action: 'encryption.reencrypt', subject: 'database', detail }),
  });
  if (done.left === 0) return done;
  print(done);
  throw new CommandError(
    `${done.left} values were encrypted with a former key meanwhile: some program still lists that key first. ` +
      'List the new key first everywhere, then run this command again.',
  );
}
