import { randomUUID } from 'node:crypto';
import type { Database } from '../../database/database.js';
import { plainArray } from '../../database/arrays.js';
import type { Claimed } from './types.js';

export interface Room {
  lockMs: number;
  /** Calls in flight, by destination. */
  busy: ReadonlyMap<string, number>;
  /** Destinations that were slow lately. */
  slow: readonly string[];
  perEndpoint: number;
  most: number;
  mostDoubtful: number;
}

/** The columns of gwk_claim_webhooks, in order. */
type Row = readonly [
  deliveryId: string,
  endpointId: string,
  eventId: string,
  earlierAttempts: number,
  accountId: string,
  url: string,
  enabled: boolean,
  failingSince: Date | null,
  lastFailedAt: Date | null,
  eventType: string | null,
  eventAt: Date | null,
  eventData: Uint8Array | null,
  outOfScope: boolean,
  secretsSealed: string,
];

const CLAIM = `
  SELECT delivery_id, endpoint_id, event_id, attempts, account_id, url, enabled, failing_since, last_failed_at,
    event_type, event_at, event_data, out_of_scope,
    array_to_string(ARRAY(SELECT encode(s, 'hex') FROM unnest(secrets) AS s), ',')
  FROM gwk_claim_webhooks($1::uuid, $2::integer, $3::uuid[], $4::integer[], $5::uuid[], $6::integer, $7::integer,
    $8::integer)`;

/** Takes what is due and what there is room for, in one statement. */
export async function claimDeliveries(db: Database, room: Room): Promise<Claimed[]> {
  const lock = randomUUID();
  const busy = [...room.busy];
  const rows = await db.callRows(CLAIM, [
    lock,
    room.lockMs,
    plainArray(busy, ([id]) => id),
    plainArray(busy, ([, calls]) => calls),
    plainArray(room.slow, (id) => id),
    room.perEndpoint,
    room.most,
    room.mostDoubtful,
  ]);
  return (rows as readonly Row[]).map((row) => claimedOf(row, lock));
}

function claimedOf(row: Row, lock: string): Claimed {
  const [deliveryId, endpointId, eventId, earlierAttempts, accountId, url, enabled, ...rest] = row;
  const [failingSince, lastFailedAt, eventType, eventAt, dataSealed, outOfScope, secretsSealed] = rest;
  return {
    deliveryId,
    lock,
    endpointId,
    accountId,
    eventId,
    earlierAttempts,
    url,
    enabled,
    failingSince,
    lastFailedAt,
    event: dataSealed && { type: eventType!, at: eventAt!, dataSealed },
    outOfScope,
    secretsSealed: bytesOf(secretsSealed),
  };
}

/** Of hex, with commas between: the driver would read an array of bytes letter by letter. */
const bytesOf = (list: string): Buffer[] =>
  list === '' ? [] : list.split(',').map((bytes) => Buffer.from(bytes, 'hex'));
