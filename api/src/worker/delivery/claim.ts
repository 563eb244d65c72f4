import { randomUUID } from 'node:crypto';
import type { Queryable } from '../../database.js';
import type { Claimed } from './types.js';

export interface Room {
  lockMs: number;
  /** Calls in flight, by destination. */
  busy: ReadonlyMap<string, number>;
  /** Destinations that were slow lately. */
  slow: readonly string[];
  perDestination: number;
  most: number;
  mostDoubtful: number;
}

interface Row {
  delivery_id: string;
  endpoint_id: string;
  event_id: string;
  attempts: number;
  account_id: string;
  url: string;
  enabled: boolean;
  failing_since: Date | null;
  last_failed_at: Date | null;
  event_type: string | null;
  event_at: Date | null;
  event_data: Uint8Array | null;
  secrets: Uint8Array[];
}

/** Takes what is due and what there is room for, in one statement. */
export async function claimDeliveries(db: Queryable, room: Room): Promise<Claimed[]> {
  const lock = randomUUID();
  const rows = await db.$queryRaw<Row[]>`
    SELECT * FROM gwk_claim_webhooks(${lock}::uuid, ${room.lockMs}::integer,
      ${[...room.busy.keys()]}::uuid[], ${[...room.busy.values()]}::integer[], ${[...room.slow]}::uuid[],
      ${room.perDestination}::integer, ${room.most}::integer, ${room.mostDoubtful}::integer)`;
  return rows.map((row) => ({
    deliveryId: row.delivery_id,
    lock,
    endpointId: row.endpoint_id,
    accountId: row.account_id,
    eventId: row.event_id,
    earlierAttempts: row.attempts,
    url: row.url,
    enabled: row.enabled,
    failingSince: row.failing_since,
    lastFailedAt: row.last_failed_at,
    event: row.event_data && { type: row.event_type!, at: row.event_at!, dataSealed: row.event_data },
    secretsSealed: row.secrets,
  }));
}
