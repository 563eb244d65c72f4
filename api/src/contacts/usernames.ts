import type { Sealer } from '@gwk/core/crypto/encryption';
import type { ContactIds } from '@gwk/core/resources/event-data';
import {
  buildContactIds,
  emit,
  instanceEvent,
  type ContactNames,
  type InstanceSubject,
} from '../events/emit.js';
import type { Transaction } from './contacts.js';

/** A username as an engine has seen it; null: it was removed. */
export interface SeenUsername {
  lid: string;
  username: string | null;
  /** When the network stated it; null: it may be older than the stored one. */
  at: Date | null;
}

/** A username that a consumer gives a contact of a sandbox, with the ids of the contact there. */
export interface SandboxUsername {
  contactId: string;
  ids: ContactIds;
  username: string;
  at: Date;
}

/**
 * Stores a username, with `contact.updated` if it is another one (gwk_set_username). It does nothing for an unknown LID: the
 * first message of a contact stores its username.
 */
export async function storeUsername(
  tx: Transaction,
  sealer: Sealer,
  instance: InstanceSubject,
  seen: SeenUsername | SandboxUsername,
): Promise<void> {
  const { accountId, instanceId } = instance;
  const { username, at } = seen;
  const [lid, contactId] = 'lid' in seen ? [seen.lid, null] : [null, seen.contactId];
  const [changed] = await tx.$queryRaw<{ previous: ContactNames }[]>`
    SELECT * FROM gwk_set_username(${accountId}::uuid, ${instanceId}::uuid, ${lid}, ${contactId}::uuid, ${username},
      ${at})`;
  if (!changed) return;
  const former = changed.previous;
  const previous = 'lid' in seen ? buildContactIds(former) : { ...seen.ids, username: former.username };
  const ids = { contact: { ...previous, username }, previous };
  await emit(tx, sealer, [instanceEvent('contact.updated', instance, new Date(), ids)]);
}

/** Stores those usernames that differ from the stored ones. */
export async function storeUsernames(
  tx: Transaction,
  sealer: Sealer,
  instance: InstanceSubject,
  seen: readonly SeenUsername[],
): Promise<void> {
  if (seen.length === 0) return;
  const { accountId, instanceId } = instance;
  const wanted = new Map(seen.map((one) => [one.lid, one]));
  const rows = await tx.contactName.findMany({
    where: { accountId, name: { in: [...wanted.keys()] } },
    select: {
      name: true,
      username: true,
      contact: { select: { conversations: { where: { instanceId }, select: { id: true, username: true } } } },
    },
    orderBy: { name: 'asc' },
  });
  const changed = rows.filter(({ name, username, contact: { conversations } }) =>
    [username, ...conversations.map((one) => one.username)].some(
      (known) => known !== wanted.get(name)!.username,
    ),
  );
  const conversations = changed.flatMap(({ contact }) => contact.conversations.map(({ id }) => id));
  // In the order of all transactions: all conversations by id, then the names. Others could deadlock with this one otherwise.
  await tx.$queryRaw`
    SELECT id FROM conversations WHERE id = ANY (${conversations}::uuid[]) ORDER BY id FOR NO KEY UPDATE`;
  for (const { name } of changed) await storeUsername(tx, sealer, instance, wanted.get(name)!);
}
