import { parseRecipient } from '@gwk/core/recipients';
import type { Command } from 'commander';
import { audit, CommandError, findAccount, printResult } from './run.js';

/** `gwk contacts ...` */
export function registerContacts(program: Command): void {
  program
    .command('contacts')
    .description('contacts of an account')
    .addHelpText('after', '\nDATABASE_URL names the database. Prints JSON.\n')
    .command('split <account> <name>')
    .description(
      'undo a wrong link: give a phone number (digits) or LID (...@lid) of a contact a contact of its own',
    )
    .action((account: string, name: string) =>
      printResult('contacts split', async (db) => {
        const { changeContact } = await import('../contacts/contacts.js');
        return changeContact(db, (tx) => split(tx, account, name));
      }),
    );
}

async function split(
  tx: Parameters<typeof audit>[0] & Parameters<typeof findAccount>[0],
  given: string,
  name: string,
) {
  const recipient = parseRecipient(name);
  if (recipient?.kind !== 'contact') throw new CommandError(`"${name}" is no phone number and no LID`);
  const { splitContact } = await import('../contacts/split.js');
  const account = await findAccount(tx, given);
  const done = await splitContact(tx, account.id, recipient);
  if (!done) throw new CommandError(`"${name}" is not one of several names of a contact`);
  // A phone number stays out of the audit log.
  await audit(tx, { accountId: account.id, action: 'contact.split', subject: done.contactId });
  return { name: done.name, contact: done.contactId };
}
