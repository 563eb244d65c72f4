import { lowestUuidAt, parseUuidTime } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { SealError, type Sealer } from '@gwk/core/crypto/encryption';
import type { EventType } from '@gwk/core/events';
import type { Database } from '../database/database.js';
import { Prisma, type Event } from '../generated/prisma/client.js';

/**
 * A place between the events of an account, in the order in which their transactions began to write
 * (docs/decisions/0052-read-events-in-the-order-of-transactions.md).
 */
export interface Place {
  position: number;
  /** Id of the last event read at this position. */
  id: string;
  /** All events after the place have ids of this time or later (milliseconds since 1970). */
  since: number;
}

/** Filters of events. Null: all. */
export interface EventFilter {
  accountId: string;
  types: readonly EventType[] | null;
  instances: readonly string[] | null;
}

/** Events after a place. */
export interface EventsAfter {
  events: StoredEvent[];
  /** The place after them and after all events that do not match. */
  next: Place;
  /** Whether more events may follow at once. */
  hasMore: boolean;
}

export type StoredEvent = Omit<Event, 'accountId' | 'position' | 'conversationId'> & { position: number };

const LOWEST_ID = lowestUuidAt(0);
const OLDEST: Place = { position: 0, id: LOWEST_ID, since: 0 };
/** Longest time from making the id of an event to the end of its transaction, with differences between clocks. */
const MAX_DELAY_MS = 86_400_000;
/** Ciphertext of a page. A stream holds one page while its client reads. */
const MAX_BYTES = 100_000;
const COLUMN = 'cursor of events, forward';

interface Row {
  id: string | null;
  instance_id: string | null;
  type: string;
  timestamp: Date;
  position: string;
  data_sealed: Uint8Array<ArrayBuffer>;
  next_position: string;
  next_id: string;
  has_more: boolean;
}

/** Reads the next events in one statement: at most `limit`, and fewer if they are large or many do not match. */
export async function readEventsAfter(
  { queryRows }: Pick<Database, 'queryRows'>,
  { accountId, types, instances }: EventFilter,
  after: Place,
  limit: number,
): Promise<EventsAfter> {
  const askedAt = Date.now();
  const rows = await queryRows<Row>(Prisma.sql`
    SELECT * FROM gwk_events_after(${accountId}::uuid, ${after.position}::bigint, ${after.id}::uuid,
      ${lowestUuidAt(after.since)}::uuid, ${types}::text[], ${instances}::uuid[], ${limit}::integer, ${MAX_BYTES}::integer)`);
  const { next_position, next_id: id, has_more: hasMore } = rows[0]!;
  // The clock of the process that made the id may be ahead.
  const latest = hasMore ? Math.min(parseUuidTime(id), askedAt) : askedAt;
  const next = { position: Number(next_position), id, since: Math.max(after.since, latest - MAX_DELAY_MS) };
  return { events: rows.flatMap(toEvent), next, hasMore };
}

function toEvent(row: Row): StoredEvent[] {
  if (row.id === null) return [];
  const { id, instance_id: instanceId, type, timestamp, data_sealed: dataSealed } = row;
  return [{ id, instanceId, type, timestamp, dataSealed, position: Number(row.position) }];
}

/** The place after an event that was read after another place. */
export const placeOf = (event: StoredEvent, after: Place): Place => ({
  position: event.position,
  id: event.id,
  since: Math.max(after.since, Math.min(parseUuidTime(event.id), Date.now()) - MAX_DELAY_MS),
});

/** Returns the accounts that have events after their places. */
export async function findAccountsWithEvents(
  { queryRows }: Pick<Database, 'queryRows'>,
  places: ReadonlyMap<string, Place>,
): Promise<string[]> {
  const low = Math.min(...[...places.values()].map(({ since }) => since));
  const rows = await queryRows<{ account: string }>(Prisma.sql`
    SELECT gwk_accounts_with_events(${[...places.keys()]}::uuid[], ${[...places.values()].map(({ position }) => position)}::bigint[],
      ${lowestUuidAt(low)}::uuid) AS account`);
  return rows.map(({ account }) => account);
}

/** The end of the events at present. Later events come after it. */
export async function findEnd({ queryRows }: Pick<Database, 'queryRows'>): Promise<Place> {
  const since = Date.now() - MAX_DELAY_MS;
  const [row] = await queryRows<{ position: string }>(Prisma.sql`SELECT gwk_event_horizon() AS position`);
  return { position: Number(row!.position), id: LOWEST_ID, since };
}

/** Cursors do not expire. They are encrypted, because positions show how much all accounts write. */
export const sealPlace = (sealer: Sealer, accountId: string, place: Place): string =>
  sealer.sealJson(accountId, COLUMN, place).toString('base64url');

/**
 * Reads `after`: a cursor, `now` or `oldest`.
 * @throws Problem `invalid-cursor`
 */
export async function openPlace(
  { db, sealer }: { db: Database; sealer: Sealer },
  accountId: string,
  after: string,
): Promise<Place> {
  if (after === 'now') return findEnd(db);
  if (after === 'oldest') return OLDEST;
  const sealed = Buffer.from(after, 'base64url');
  try {
    if (sealed.toString('base64url') === after) return sealer.openJson(accountId, COLUMN, sealed) as Place;
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
  }
  throw new Problem('invalid-cursor');
}
