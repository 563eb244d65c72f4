import { newUuid } from '@gwk/core/ids';
import type { Sealer } from '@gwk/core/encryption';
import type { Database, Queryable } from '../database/database.js';
import type { Prisma } from '../generated/prisma/client.js';
import { sqlStateOf } from '../database/grouping.js';
import { failMessages } from '../messages/apply-status.js';

/**
 * Changes of what a contact is: opted out or not, one or two. Each holds the contact with all its conversations until
 * it is committed, so it is one transaction that asks several times. Should this process stop in the middle, Postgres
 * ends the transaction after a while.
 */
export interface ContactDeps {
  database: Database;
  sealer: Sealer;
}

export type Transaction = Prisma.TransactionClient;

const IDLE_MS = 5_000;
const LIMITS = { timeout: 60_000 };
const TRIES = 5;
/** Deadlock, serialization failure; a row that another removed meanwhile. */
const PASSING = new Set(['40P01', '40001', '23503']);

export async function changeContact<T>(
  { database }: Pick<ContactDeps, 'database'>,
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
      if (attempt === TRIES || !PASSING.has(sqlStateOf(error) ?? '')) throw error;
    }
  }
}

export async function lockContact(tx: Queryable, contactId: string): Promise<void> {
  await tx.$queryRaw`SELECT gwk_lock_contacts(ARRAY[${contactId}::uuid])::text`;
}

/** The contact of a canonical name, held from here on; null where there is none and it is not to be made. */
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
 * Fails what waits for a contact who has opted out, scheduled messages too, with their events. The caller holds the
 * contact. What has been attempted may have left: it is let go its way.
 *
 * Who holds a contact stops whoever else would write to it, so it is held for a group of messages and no longer: of a
 * longer queue the worker fails the rest (finishOptOut). Nothing of that rest leaves meanwhile: claims refuse it.
 */
export async function failWaitingFor(tx: Transaction, sealer: Sealer, contactId: string): Promise<number> {
  const rows: { message_id: string }[] = await tx.$queryRaw`
    SELECT * FROM gwk_waiting_messages_of_contact(${contactId}::uuid, ${GROUP}::integer)`;
  const ids = rows.map(({ message_id }) => message_id);
  const failed = await failMessages({ database: tx, sealer }, ids, { code: 'opted_out', message: null });
  await tx.$executeRaw`
    UPDATE opt_outs SET unfinished = ${ids.length === GROUP}
    WHERE contact_id = ${contactId}::uuid AND unfinished <> ${ids.length === GROUP}`;
  return failed;
}

/** Fails the next group of what waits for a contact who has opted out. @returns how many, and whether more may wait */
export function finishOptOut(
  { database, sealer }: ContactDeps,
  contactId: string,
): Promise<{ failed: number; more: boolean }> {
  return changeContact({ database }, async (tx) => {
    await lockContact(tx, contactId);
    if (!(await isUnfinished(tx, contactId))) return { failed: 0, more: false };
    const failed = await failWaitingFor(tx, sealer, contactId);
    return { failed, more: await isUnfinished(tx, contactId) };
  });
}

export async function isUnfinished(db: Queryable, contactId: string): Promise<boolean> {
  const rows = await db.$queryRaw<unknown[]>`
    SELECT FROM opt_outs WHERE contact_id = ${contactId}::uuid AND unfinished`;
  return rows.length > 0;
}

/**
 * Two names are found to be those of one contact: what is known under either is one contact from here on, opted out if
 * either was.
 */
export async function linkNames(
  { database, sealer }: ContactDeps,
  accountId: string,
  names: readonly [string, string],
  guard: (tx: Transaction) => Promise<void> = async () => {},
): Promise<void> {
  await changeContact({ database }, async (tx) => {
    await guard(tx);
    const [row] = await tx.$queryRaw<{ contact_id: string; merged: boolean; opted_out: boolean }[]>`
      SELECT * FROM gwk_link_names(${accountId}::uuid, ${names[0]}, ${names[1]}, ${newUuid()}::uuid)`;
    const { contact_id: contactId, merged, opted_out: optedOut } = row!;
    if (merged && optedOut) await failWaitingFor(tx, sealer, contactId);
  });
}
