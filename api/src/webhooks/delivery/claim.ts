import { randomUUID } from 'node:crypto';
import type { Database } from '../../database/database.js';
import { toFields } from '../../database/model-columns.js';
import { Prisma } from '../../generated/prisma/client.js';
import type { Slots } from './slots.js';
import type { ClaimedDelivery } from './types.js';

type ClaimLimits = ReturnType<Slots['capacity']> & { lockMs: number; perEndpoint: number };

type Row = Omit<ClaimedDelivery, 'lock' | 'event' | 'secretsSealed'> & {
  eventType: string | null;
  eventAt: Date | null;
  eventData: Uint8Array | null;
  secrets: string;
};

/** Claims due deliveries up to the limits, in one statement. */
export async function claimDeliveries(db: Database, limits: ClaimLimits): Promise<ClaimedDelivery[]> {
  const lock = randomUUID();
  const busy = [...limits.busy];
  const rows = await db.queryRows<Record<string, unknown>>(Prisma.sql`
    SELECT * FROM gwk_claim_webhooks(${lock}::uuid, ${limits.lockMs}::integer, ${busy.map(([id]) => id)}::uuid[],
      ${busy.map(([, calls]) => calls)}::integer[], ${[...limits.slow]}::uuid[], ${limits.perEndpoint}::integer,
      ${limits.maxCalls}::integer, ${limits.maxUnhealthyCalls}::integer)`);
  return toFields<Row>(rows).map(({ eventType, eventAt, eventData, secrets, ...row }) => ({
    ...row,
    lock,
    event: eventData && { type: eventType!, at: eventAt!, dataSealed: eventData },
    secretsSealed: parseHexList(secrets),
  }));
}

const parseHexList = (list: string): Buffer[] =>
  list === '' ? [] : list.split(',').map((bytes) => Buffer.from(bytes, 'hex'));
