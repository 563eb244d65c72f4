import { newUuid } from '@gwk/core/ids/ids';
import type { Recipient } from '@gwk/core/ids/recipients';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { buildContactIds, emit, instanceEvent, type ContactNames } from '../events/emit.js';
import { findName, lockContactNamed, type Transaction } from './contacts.js';

export interface Split {
  /** Name that has a contact of its own now. */
  name: string;
  contactId: string;
}

interface SeenIds {
  instanceId: string;
  ids: ContactNames;
}

/**
 * Gives a name of a contact a contact of its own, which undoes a wrong link. Emits `contact.updated` for each instance whose
 * events showed the phone number with the LID.
 * @returns null if the name is unknown or the only one of its contact
 */
export async function splitContact(
  tx: Transaction,
  sealer: Sealer,
  { accountId, recipient }: { accountId: string; recipient: Recipient },
): Promise<Split | null> {
  const formerId = await lockContactNamed(tx, accountId, recipient, false);
  const seen = await tx.$queryRaw<SeenIds[]>`
    SELECT v.instance_id AS "instanceId", a.ids
    FROM (SELECT ${findName(accountId, recipient)} AS name OFFSET 0) AS f
    JOIN conversations v ON v.contact_id = ${formerId}::uuid
    CROSS JOIN LATERAL gwk_contact_ids(v.contact_id, v.instance_id) AS a(ids)
    WHERE a.ids->>'lid' IS NOT NULL AND (
      f.name = ANY (string_to_array(gwk_phone_forms(a.ids->>'phone'), ' '))
      OR (f.name = a.ids->>'lid' AND a.ids->>'phone' IS NOT NULL))`;
  const contactId = newUuid();
  const [row] = await tx.$queryRaw<{ name: string; split: boolean }[]>`
    SELECT f.name, gwk_split_contact(${accountId}::uuid, f.name, ${contactId}::uuid, ${newUuid()}::uuid,
      ${newUuid()}::uuid) AS split
    FROM (SELECT ${findName(accountId, recipient)} AS name OFFSET 0) AS f`;
  const { name, split } = row!;
  if (!split) return null;
  const drafts = seen.map(({ instanceId, ids }) => {
    const [contact, previous] = [buildContactIds({ ...ids, phone: null }), buildContactIds(ids)];
    return instanceEvent('contact.updated', { accountId, instanceId }, new Date(), { contact, previous });
  });
  await emit(tx, sealer, drafts);
  return { name, contactId };
}
