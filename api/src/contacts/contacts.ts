import { newUuid } from '@gwk/core/ids';
import type { Sealer } from '@gwk/core/encryption';
import type { Database, Queryable } from '../database/database.js';
import type { Prisma } from '../generated/prisma/client.js';
import { readSqlState } from '../database/grouping.js';
import { failMessages } from '../messages/apply-status.js';

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

/** Locks the contact of a canonical name; null: it does not exist and is not to be created. */
export async function lockContactNamed(
  tx: Queryable,
  accountId: string,
  name: string,
  make: boolean,
): Promise<string | null> {
  const [row] = await tx.$queryRaw<{ id: string | null }[]>`
    SELECT gwk_lock_contact_by_name(${accountId}::uuid, ${name}, ${make ? newUuid() : null}::uuid) AS id`;
  return row!.id;
}

const GROUP = 500;

/**
 * Fails the queued and scheduled messages to a contact who has opted out, with their events. The caller has locked the contact.
 * Messages that an engine has attempted may have left and continue.
 *
 * The lock blocks all other writes to the contact, so this fails one batch only; the worker fails the rest (finishOptOut).
 * Claims refuse the rest meanwhile.
 */
export async function failWaitingFor(
  tx: Transaction,
  sealer: Sealer,
  contactId: string,
): Promise<{ failed: number; more: boolean }> {
  const rows: { message_id: string }[] = await tx.$queryRaw`
    SELECT * FROM gwk_waiting_messages_of_contact(${contactId}::uuid, ${GROUP}::integer)`;
  const ids = rows.map(({ message_id }) => message_id);
  const failed = await failMessages({ database: tx, sealer }, ids, { code: 'opted_out', message: null });
  const more = ids.length === GROUP;
  await tx.optOut.updateMany({ where: { contactId, unfinished: !more }, data: { unfinished: more } });
  return { failed, more };
}

/** Fails the next batch of messages to an opted-out contact. @returns the number, and whether more may be queued */
export function finishOptOut(
  { database, sealer }: ContactDeps,
  contactId: string,
): Promise<{ failed: number; more: boolean }> {
  return changeContact(database, async (tx) => {
    await lockContact(tx, contactId);
    if (!(await isUnfinished(tx, contactId))) return { failed: 0, more: false };
    return failWaitingFor(tx, sealer, contactId);
  });
}

export async function isUnfinished(tx: Transaction, contactId: string): Promise<boolean> {
  return (await tx.optOut.count({ where: { contactId, unfinished: true } })) > 0;
}

/**
 * Merges the contacts of two names that belong to one person. The merged contact is opted out if either was.
 */
export async function linkNames(
  { database, sealer }: ContactDeps,
  accountId: string,
  names: readonly [string, string],
  guard: (tx: Transaction) => Promise<void> = async () => {},
): Promise<void> {
  await changeContact(database, async (tx) => {
    await guard(tx);
    const [row] = await tx.$queryRaw<{ contact_id: string; merged: boolean; opted_out: boolean }[]>`
      SELECT * FROM gwk_link_names(${accountId}::uuid, ${names[0]}, ${names[1]}, ${newUuid()}::uuid)`;
    const { contact_id: contactId, merged, opted_out: optedOut } = row!;
    if (merged && optedOut) await failWaitingFor(tx, sealer, contactId);
  });
}
