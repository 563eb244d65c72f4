import { parseRecipient } from '@gwk/core/ids/recipients';
import type { Command } from 'commander';
import type { splitContact } from '../contacts/split.js';
import { audit, CommandError, findAccount, printResult, readSealer } from './run.js';

/** `gwk contacts ...` */
export function registerContacts(program: Command): void {
  program
    .command('contacts')
    .description('contacts of an account')
    .addHelpText(
      'after',
      '\nDATABASE_URL names the database, GWK_ENCRYPTION_KEYS the keys, newest first. Prints JSON.\n',
    )
    .command('split <account> <name>')
    .description(
      'undo a wrong link: give a phone number (digits) or LID (...@lid) of a contact a contact of its own',
    )
    .action((account: string, name: string) =>
      printResult('contacts split', async (db) => {
        const { changeContact } = await import('../contacts/contacts.js');
        const { checkEncryptionKeys } = await import('../database/key-check.js');
        const sealer = readSealer();
        await checkEncryptionKeys(db, sealer);
        return changeContact(db, (tx) => split(tx, sealer, account, name));
      }),
    );
}

async function split(
  tx: Parameters<typeof splitContact>[0],
  sealer: ReturnType<typeof readSealer>,
  given: string,
  name: string,
) {
  const recipient = parseRecipient(name);
  if (recipient?.kind !== 'contact') throw new CommandError(`"${name}" is no phone number and no LID`);
  const { splitContact: splitName } = await import('../contacts/split.js');
  const account = await findAccount(tx, given);
  const done = await splitName(tx, sealer, { accountId: account.id, recipient });
  if (!done) throw new CommandError(`"${name}" is not one of several names of a contact`);
  // A phone number stays out of the audit log.
  await audit(tx, { accountId: account.id, action: 'contact.split', subject: done.contactId });
  return { name: done.name, contact: done.contactId };
}
