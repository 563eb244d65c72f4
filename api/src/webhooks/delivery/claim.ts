import { randomUUID } from 'node:crypto';
import type { Database } from '../../database/database.js';
import { plainArray } from '../../database/arrays.js';
import type { Capacity } from './slots.js';
import type { ClaimedDelivery } from './types.js';

interface ClaimLimits extends Capacity {
  lockMs: number;
  perEndpoint: number;
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

/** Claims due deliveries up to the limits, in one statement. */
export async function claimDeliveries(db: Database, limits: ClaimLimits): Promise<ClaimedDelivery[]> {
  const lock = randomUUID();
  const busy = [...limits.busy];
  const rows = await db.callRows(CLAIM, [
    lock,
    limits.lockMs,
    plainArray(busy, ([id]) => id),
    plainArray(busy, ([, calls]) => calls),
    plainArray(limits.slow, (id) => id),
    limits.perEndpoint,
    limits.maxCalls,
    limits.maxUnhealthyCalls,
  ]);
  return (rows as readonly Row[]).map((row) => toClaimedDelivery(row, lock));
}

function toClaimedDelivery(row: Row, lock: string): ClaimedDelivery {
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
    secretsSealed: parseHexList(secretsSealed),
  };
}

/** The query returns comma-separated hex, because the driver parses an array of bytea character by character. */
const parseHexList = (list: string): Buffer[] =>
  list === '' ? [] : list.split(',').map((bytes) => Buffer.from(bytes, 'hex'));
