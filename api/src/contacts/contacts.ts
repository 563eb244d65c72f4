import { newUuid } from '@gwk/core/ids/ids';
import { canonicalPhone, exactDigits, type LinkedNames, type Recipient } from '@gwk/core/ids/recipients';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { Database, Queryable } from '../database/database.js';
import { Prisma } from '../generated/prisma/client.js';
import { readSqlState } from '../database/grouping.js';
import { contactChanges } from './contact-changes.js';
import { buildContactIds, emit, instanceEvent, type ContactNames } from '../events/emit.js';
import { failMessages } from '../message-status/apply-status.js';

export interface ContactDeps {
  database: Database;
  sealer: Sealer;
}

export type Transaction = Prisma.TransactionClient;

const IDLE_MS = 5_000;
const LIMITS = { timeout: 60_000 };
const TRIES = 5;
/** Deadlock, serialization failure, or a row that another transaction removed meanwhile. */
const PASSING = new Set(['40P01', '40001', '23503']);

/**
 * Runs an opt-out or a merge in one transaction, which locks the contact and all its conversations. Repeats it after a
 * conflict. If this process stops in the middle, Postgres ends the transaction after 5 s.
 */
export async function changeContact<T>(
  database: Database,
  change: (tx: Transaction) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.$transaction(async (tx) => {
        await tx.$queryRaw`
          SELECT set_config('idle_in_transaction_session_timeout', ${String(IDLE_MS)}, true)`;
        return change(tx);
      }, LIMITS);
    } catch (error) {
      if (attempt === TRIES || !PASSING.has(readSqlState(error) ?? '')) throw error;
    }
  }
}

export async function lockContact(tx: Queryable, contactId: string): Promise<void> {
  await tx.$queryRaw`SELECT gwk_lock_contacts(ARRAY[${contactId}::uuid])::text`;
}

/** Locks the contact of a recipient; null: it does not exist and is not to be created. */
export async function lockContactNamed(
  tx: Queryable,
  accountId: string,
  recipient: Recipient,
  make: boolean,
): Promise<string | null> {
  const [row] = await tx.$queryRaw<{ id: string | null }[]>`
    SELECT gwk_lock_contact_by_name(${accountId}::uuid, ${findName(accountId, recipient)},
      ${make ? newUuid() : null}::uuid) AS id`;
  return row!.id;
}

/** SQL of the name under which the account's contact is found. */
export const findName = (accountId: string, recipient: Recipient): Prisma.Sql =>
  Prisma.sql`gwk_find_name(${accountId}::uuid, ${recipient.name}, ${exactDigits(recipient)})`;

const GROUP = 500;

/**
 * The instances of an opt-out: one sandbox, or all of the account (null). A word in a sandbox locks and changes the conversation of that
 * sandbox only, so it neither delays nor stops real numbers.
 */
export interface OptOutScope {
  contactId: string;
  sandboxId: string | null;
}

async function lockScope(tx: Queryable, { contactId, sandboxId }: OptOutScope): Promise<void> {
  if (sandboxId === null) return lockContact(tx, contactId);
  await tx.$queryRaw`
    SELECT id FROM conversations
    WHERE instance_id = ${sandboxId}::uuid AND contact_id = ${contactId}::uuid FOR NO KEY UPDATE`;
}

/**
 * Fails the queued and scheduled messages to a contact who has opted out, with their events. The caller has locked the scope.
 * Messages that an engine has attempted may have left and continue.
 *
 * The lock blocks all other writes to the contact, so this fails one batch only; the worker fails the rest (finishOptOut).
 * Claims refuse the rest meanwhile.
 */
export async function failWaitingFor(
  tx: Transaction,
  sealer: Sealer,
  { contactId, sandboxId }: OptOutScope,
): Promise<{ failed: number; more: boolean }> {
  const rows: { message_id: string }[] = await tx.$queryRaw`
    SELECT * FROM gwk_waiting_messages_of_contact(${contactId}::uuid, ${sandboxId}::uuid, ${GROUP}::integer)`;
  const ids = rows.map(({ message_id }) => message_id);
  const failed = await failMessages({ database: tx, sealer }, ids, { code: 'opted_out', message: null });
  const more = ids.length === GROUP;
  const where = { contactId, ...(sandboxId !== null && { sandboxId }), unfinished: !more };
  await tx.optOut.updateMany({ where, data: { unfinished: more } });
  return { failed, more };
}

/** Fails the next batch of messages to an opted-out contact. @returns the number, and whether more may be queued */
export function finishOptOut(
  { database, sealer }: ContactDeps,
  scope: OptOutScope,
): Promise<{ failed: number; more: boolean }> {
  return changeContact(database, async (tx) => {
    await lockScope(tx, scope);
    if ((await tx.optOut.count({ where: { ...scope, unfinished: true } })) === 0)
      return { failed: 0, more: false };
    return failWaitingFor(tx, sealer, scope);
  });
}

/** A LID and a phone number that the engine of an instance has seen together. */
export interface SeenNames extends LinkedNames {
  accountId: string;
  instanceId: string;
  /** The username of the LID, and when the network stated it. */
  stated?: { username: string; at: Date } | null;
}

/**
 * Links the names of one person (gwk_link_names). If their contact is opted out, its queued messages fail in the same
 * transaction, also those that were queued for another contact before.
 * @param guard - runs first in the transaction; false: the names are outdated, and nothing is linked
 * @returns false if the instance has changed too many contacts in the last minute; nothing is linked then
 */
export async function linkNames(
  { database, sealer }: ContactDeps,
  seen: SeenNames,
  guard: (tx: Transaction) => Promise<boolean> = () => Promise.resolve(true),
): Promise<boolean> {
  if (!contactChanges.allow(seen.instanceId)) return false;
  const isChanged = await changeContact(
    database,
    async (tx) => (await guard(tx)) && (await link(tx, sealer, seen)).changed,
  );
  if (isChanged) contactChanges.count(seen.instanceId);
  return true;
}

interface LinkedRow {
  contact_id: string;
  changed: boolean;
  opted_out: boolean;
  updates: { contact: ContactNames; previous: ContactNames }[] | null;
}

/** `changed`: a contact was merged or lost a name. */
async function link(
  tx: Transaction,
  sealer: Sealer,
  { accountId, instanceId, lid, phone, stated = null }: SeenNames,
): Promise<{ contactId: string; changed: boolean }> {
  const [row] = await tx.$queryRaw<LinkedRow[]>`
    SELECT * FROM gwk_link_names(${accountId}::uuid, ${instanceId}::uuid, ${lid}, ${phone},
      ${canonicalPhone(phone)}, ${newUuid()}::uuid, ${newUuid()}::uuid,
      ${stated && JSON.stringify(stated)}::jsonb)`;
  const { contact_id: contactId, changed, opted_out: optedOut, updates } = row!;
  if (changed && optedOut) await failWaitingFor(tx, sealer, { contactId, sandboxId: null });
  const drafts = (updates ?? []).map((update) => {
    const [contact, previous] = [buildContactIds(update.contact), buildContactIds(update.previous)];
    return instanceEvent('contact.updated', { accountId, instanceId }, new Date(), { contact, previous });
  });
  await emit(tx, sealer, drafts);
  return { contactId, changed };
}

/**
 * Gives a contact who has opted out the phone numbers that instances have seen with its LID, also those that another instance
 * knows by a former owner (gwk_link_names). The caller has locked the contact.
 * @returns the id of the contact, which a merge changes
 */
export async function linkSeenPhones(tx: Transaction, sealer: Sealer, contactId: string): Promise<string> {
  const seen = await tx.$queryRaw<SeenNames[]>`
    SELECT c.account_id AS "accountId", v.instance_id AS "instanceId", v.lid, v.phone
    FROM conversations v JOIN contacts c ON c.id = v.contact_id
    WHERE v.contact_id = ${contactId}::uuid AND v.lid IS NOT NULL AND v.phone IS NOT NULL AND NOT EXISTS (
      SELECT FROM contact_names n
      WHERE n.contact_id = v.contact_id AND n.name = ANY (string_to_array(gwk_phone_forms(v.phone), ' ')))
    ORDER BY v.instance_id`;
  let linkedId = contactId;
  for (const names of seen) linkedId = (await link(tx, sealer, names)).contactId;
  return linkedId;
}
