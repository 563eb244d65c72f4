import type { Command } from 'commander';
import { audit, CommandError, print, withSealer } from './run.js';

/** `gwk sealing ...`: the rotation of the keys of the encryption at rest (docs/security.md). */
export function registerSealing(program: Command): void {
  const sealing = program
    .command('sealing')
    .description('keys of the encryption at rest')
    .addHelpText(
      'after',
      '\nDATABASE_URL names the database, GWK_ENCRYPTION_KEYS the keys, the newest first. Prints JSON, with ids of keys and no key.\n',
    );

  sealing
    .command('status')
    .description('how many values each key has sealed')
    .action(() =>
      withSealer('sealing status', async (db, sealer) => {
        const { sealingStatus } = await import('../database/encryption/reencrypt.js');
        const { current, rows } = await sealingStatus(db, sealer);
        print({ current, configured: sealer.keys.map(({ id }) => id), sealed: rows });
      }),
    );

  sealing
    .command('reseal')
    .description(
      'seal with the first key what others have sealed, and retire those; beside a gateway that works',
    )
    .action(() =>
      withSealer('sealing reseal', async (db, sealer) => {
        const { checkSealingKeys } = await import('../database/key-check.js');
        await checkSealingKeys(db, sealer);
        const { reseal } = await import('../database/encryption/reencrypt.js');
        const done = await reseal(db, sealer, {
          note: (tx, detail) =>
            audit(tx, { accountId: null, action: 'sealing.reseal', subject: 'database', detail }),
        });
        print(done);
        if (done.left === 0) return;
        throw new CommandError(
          `${done.left} values were sealed with a former key meanwhile: a program still has it in front. ` +
            'Give the new key first place everywhere, and run this again.',
        );
      }),
    );
}
