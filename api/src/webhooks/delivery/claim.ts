import { randomUUID } from 'node:crypto';
import type { Database } from '../../database/database.js';
import { plainArray } from '../../database/arrays.js';
import { toFields } from '../../database/model-columns.js';
import type { Slots } from './slots.js';
import type { ClaimedDelivery } from './types.js';

type ClaimLimits = ReturnType<Slots['capacity']> & { lockMs: number; perEndpoint: number };

type Row = Omit<ClaimedDelivery, 'lock' | 'event' | 'secretsSealed'> & {
  eventType: string | null;
  eventAt: Date | null;
  eventData: Uint8Array | null;
  secrets: string;
};

const CLAIM = `
  SELECT * FROM gwk_claim_webhooks($1::uuid, $2::integer, $3::uuid[], $4::integer[], $5::uuid[], $6::integer, $7::integer,
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
  return toFields<Row>(rows).map(({ eventType, eventAt, eventData, secrets, ...row }) => ({
    ...row,
    lock,
    event: eventData && { type: eventType!, at: eventAt!, dataSealed: eventData },
    secretsSealed: parseHexList(secrets),
  }));
}

const parseHexList = (list: string): Buffer[] =>
  list === '' ? [] : list.split(',').map((bytes) => Buffer.from(bytes, 'hex'));
