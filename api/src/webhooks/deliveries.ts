import { toPublicId } from '@gwk/core/ids';
import { Problem } from '@gwk/core/problems';
import type { DeliveryStatus } from '@gwk/core/states';
import { maySee, restrictionOf, type Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import { sealEvent } from '../events/emit.js';
import { Prisma } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import { lookBy, newestFirst, newestOfFew, newestQueued } from '../database/keyset-pages.js';
import { findEndpoint } from './endpoints.js';
import type { DeliveryRow } from './view.js';

/**
 * The log of deliveries, and single ones made by hand. A restricted key sees of its destinations what concerns its
 * instances or none: a destination may have been for others before.
 */
const WITHOUT_RESPONSE = { lastResponseSealed: true } as const;

export interface DeliveryList {
  endpointId: string;
  status: DeliveryStatus | undefined;
  /** Older than this one. */
  after: string | null;
  limit: number;
}

const COLUMNS = Prisma.sql`m.id, m.account_id AS "accountId", m.endpoint_id AS "endpointId", m.event_id AS "eventId",
  m.instance_id AS "instanceId", m.event_type AS "eventType", m.status, m.attempts,
  m.next_attempt_at AS "nextAttemptAt", m.last_status_code AS "lastStatusCode", m.last_error AS "lastError",
  m.last_latency_ms AS "lastLatencyMs", m.created_at AS "createdAt", m.delivered_at AS "deliveredAt"`;

/** Newest first. */
export async function listDeliveries(
  db: Database,
  caller: Caller,
  list: DeliveryList,
): Promise<DeliveryRow[]> {
  const { endpointId, status, after, limit } = list;
  const theirs = restrictionOf(caller);
  if (status === 'pending') return pending(db, list, theirs);
  const given = Prisma.sql`${endpointId}::uuid, ${status ?? null}, ${theirs}::uuid[]`;
  const look = lookBy<DeliveryRow>(db, COLUMNS, 'gwk_deliveries_of_endpoint', given);
  const page = { from: null, before: after, limit };
  return status === 'failed' ? newestOfFew(page, look) : newestFirst(page, look);
}

/** What is pending is in the queue; in the log it would be looked for among millions. */
const pending = (
  db: Database,
  { endpointId, after, limit }: DeliveryList,
  theirs: string[] | null,
): Promise<DeliveryRow[]> =>
  newestQueued(
    { before: after, limit },
    (before, amount) => db.$queryRaw`
      SELECT q.delivery_id AS id FROM webhook_queue q
      WHERE q.endpoint_id = ${endpointId}::uuid AND (${before}::uuid IS NULL OR q.delivery_id < ${before}::uuid)
      ORDER BY q.delivery_id DESC LIMIT ${amount}::integer`,
    (ids) => db.$queryRaw<DeliveryRow[]>`
      SELECT ${COLUMNS} FROM webhook_deliveries m
      WHERE m.id = ANY (${ids}::uuid[]) AND m.status = 'pending'
        AND (${theirs}::uuid[] IS NULL OR m.instance_id = ANY (${theirs}::uuid[]) OR m.instance_id IS NULL)
      ORDER BY m.id DESC`,
  );

/** @throws Problem `not-found`: also where its destination was removed, so that it can go nowhere */
export async function findDelivery(
  db: Pick<Prisma.TransactionClient, 'webhookDelivery' | 'webhookEndpoint'>,
  caller: Caller,
  id: string,
): Promise<DeliveryRow> {
  const row = await db.webhookDelivery.findUnique({ where: { id }, omit: WITHOUT_RESPONSE });
  if (!row || row.accountId !== caller.accountId) throw new Problem('not-found');
  if (row.instanceId !== null && !maySee(caller, row.instanceId)) throw new Problem('not-found');
  await findEndpoint(db, caller, row.endpointId);
  return row;
}

/**
 * Queues a delivery that has ended as if it had just been made: to an enabled destination with the whole schedule of
 * attempts, to a disabled one once.
 * @param resumed an earlier request may have queued it, without telling: then that it is pending is the answer
 * @throws Problem `not-found`, `delivery-pending`
 */
export async function retryDelivery(
  db: Database,
  caller: Caller,
  id: string,
  resumed: boolean,
): Promise<DeliveryRow> {
  return db.$transaction(async (tx) => {
    await findDelivery(tx, caller, id);
    const queued = await tx.$queryRaw<unknown[]>`SELECT gwk_requeue_deliveries(ARRAY[${id}::uuid])::text`;
    if (queued.length === 0 && !resumed) throw new Problem('delivery-pending');
    return findDelivery(tx, caller, id);
  });
}

/**
 * A `webhook.test` event for one destination, whatever its filters and whether it is enabled or not.
 * @param request `deliveryId`: found where an earlier request made it
 * @throws Problem `not-found`
 */
export async function sendTest(
  { db, sealer }: Pick<Services, 'db' | 'sealer'>,
  caller: Caller,
  request: { endpointId: string; deliveryId: string; resumed: boolean },
): Promise<DeliveryRow> {
  const { endpointId, deliveryId, resumed } = request;
  const { accountId } = caller;
  return db.$transaction(async (tx) => {
    await findEndpoint(tx, caller, endpointId);
    const made = resumed && (await tx.webhookDelivery.findUnique({ where: { id: deliveryId } }));
    if (made) return made;
    const at = new Date();
    const data = { endpoint_id: toPublicId('endpoint', endpointId), timestamp: at.toISOString() };
    const event = sealEvent(sealer, { accountId, instanceId: null, type: 'webhook.test', at, data });
    await tx.event.create({
      data: {
        id: event.id,
        accountId,
        type: event.type,
        timestamp: at,
        dataSealed: new Uint8Array(event.data),
      },
    });
    await tx.$executeRaw`
      INSERT INTO webhook_deliveries (id, account_id, endpoint_id, event_id, event_type, status, next_attempt_at, created_at)
      VALUES (${deliveryId}::uuid, ${accountId}::uuid, ${endpointId}::uuid, ${event.id}::uuid, ${event.type}, 'pending',
        now(), now())`;
    await tx.$executeRaw`
      INSERT INTO webhook_queue (delivery_id, endpoint_id, event_id, due_at)
      VALUES (${deliveryId}::uuid, ${endpointId}::uuid, ${event.id}::uuid, now())`;
    return findDelivery(tx, caller, deliveryId);
  });
}
