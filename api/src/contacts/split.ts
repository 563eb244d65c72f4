import { newUuid } from '@gwk/core/ids';
import type { Recipient } from '@gwk/core/recipients';
import { findName, type Transaction } from './contacts.js';

export interface Split {
  /** Name that has a contact of its own now. */
  name: string;
  contactId: string;
}

/**
 * Gives a name of a contact a contact of its own, which undoes a wrong link.
 * @returns null if the name is unknown or the only one of its contact
 */
export async function splitContact(
  tx: Transaction,
  accountId: string,
  recipient: Recipient,
): Promise<Split | null> {
  const contactId = newUuid();
  const [row] = await tx.$queryRaw<{ name: string; split: boolean }[]>`
    SELECT f.name, gwk_split_contact(${accountId}::uuid, f.name, ${contactId}::uuid, ${newUuid()}::uuid,
      ${newUuid()}::uuid) AS split
    FROM (SELECT ${findName(accountId, recipient)} AS name OFFSET 0) AS f`;
  const { name, split } = row!;
  return split ? { name, contactId } : null;
}
