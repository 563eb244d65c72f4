import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import type { DeliveryStatus } from '@gwk/core/states';
import { maySee, listRestriction, type Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import { sealEventData } from '../events/emit.js';
import { Prisma } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import {
  queryRange,
  pageNewest,
  pageNewestOfFew,
  pageNewestQueued,
  type PageRange,
} from '../database/keyset-pages.js';
import { selectFields } from '../database/model-columns.js';
import { findEndpoint } from './endpoints.js';
import type { DeliveryRow } from './view.js';

const WITHOUT_RESPONSE = { lastResponseSealed: true } as const;

interface DeliveryList extends PageRange {
  endpointId: string;
  status: DeliveryStatus | undefined;
}

const FIELDS = Object.keys(Prisma.WebhookDeliveryScalarFieldEnum);
const COLUMNS = selectFields(
  FIELDS.filter((field) => !(field in WITHOUT_RESPONSE)),
  'm',
);

/**
 * Lists the newest deliveries first. A restricted key sees deliveries of its own instances and of no instance only, because
 * the endpoint may have included other instances before.
 */
export async function listDeliveries(
  db: Database,
  caller: Caller,
  list: DeliveryList,
): Promise<DeliveryRow[]> {
  const { endpointId, status, before, limit } = list;
  const visible = listRestriction(caller);
  if (status === 'pending') return listPending(db, list, visible);
  const given = Prisma.sql`${endpointId}::uuid, ${status ?? null}, ${visible}::uuid[]`;
  const read = queryRange<DeliveryRow>(db, COLUMNS, 'gwk_deliveries_of_endpoint', given);
  const page = { from: null, before, limit };
  return status === 'failed' ? pageNewestOfFew(page, read) : pageNewest(page, read);
}

/** Pages through the queue: pending deliveries are few among the millions of the log. */
const listPending = (
  db: Database,
  { endpointId, ...page }: DeliveryList,
  visible: string[] | null,
): Promise<DeliveryRow[]> =>
  pageNewestQueued(
    page,
    (before, amount) => db.$queryRaw`
      SELECT q.delivery_id AS id FROM webhook_queue q
      WHERE q.endpoint_id = ${endpointId}::uuid AND (${before}::uuid IS NULL OR q.delivery_id < ${before}::uuid)
      ORDER BY q.delivery_id DESC LIMIT ${amount}::integer`,
    (ids) => db.$queryRaw<DeliveryRow[]>`
      SELECT ${COLUMNS} FROM webhook_deliveries m
      WHERE m.id = ANY (${ids}::uuid[]) AND m.status = 'pending'
        AND (${visible}::uuid[] IS NULL OR m.instance_id = ANY (${visible}::uuid[]) OR m.instance_id IS NULL)
      ORDER BY m.id DESC`,
  );

/** @throws Problem `not-found`, also if the endpoint was deleted */
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
 * Queues a finished delivery again, with the whole schedule of attempts. A disabled endpoint gets one attempt.
 * @param resumed an interrupted request with the same key may have queued it: a pending delivery is then the answer
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
 * Queues a `webhook.test` event for one endpoint, regardless of its filters and of whether it is enabled.
 * @param request `resumed`: an interrupted request with the same key may have created the delivery `deliveryId`
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
    const event = { id: newUuid(), accountId, type: 'webhook.test', timestamp: at };
    const dataSealed = new Uint8Array(sealEventData(sealer, accountId, data));
    await tx.event.create({ data: { ...event, dataSealed } });
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
