import { ConsoleDeliveryOut, MessageDeliveryList } from '../resources/console/delivery.js';
import { toPublicId } from '@gwk/core/ids/ids';
import { operation } from '../http/operation.js';
import { rowView } from '../http/row-view.js';
import { findMessage } from '../messages/list.js';
import { findDelivery } from '../webhooks/deliveries.js';
import { describeDelivery, type DescribedDelivery } from '../webhooks/describe-delivery.js';
import { listEndpoints } from '../webhooks/endpoints.js';
import { deliveryOut, type DeliveryRow } from '../webhooks/view.js';

const MAX_DELIVERIES = 100;

const listMessageDeliveries = operation({
  name: 'listMessageDeliveries',
  method: 'GET',
  path: '/console/api/messages/{message_id}/deliveries',
  summary: 'List the webhook deliveries of the events about a message, oldest first',
  scope: null,
  person: 'webhooks:read',
  status: 200,
  result: MessageDeliveryList,
  async handle({ caller, params, services: { db } }) {
    const { id } = await findMessage(db, caller, params['message_id']!);
    const [rows, endpoints] = await Promise.all([
      db.$queryRaw<DeliveryRow[]>`
        SELECT d.id, d.endpoint_id AS "endpointId", d.event_id AS "eventId", d.event_type AS "eventType", d.status,
          d.attempts, d.next_attempt_at AS "nextAttemptAt", d.last_status_code AS "lastStatusCode",
          d.last_error AS "lastError", d.last_latency_ms AS "lastLatencyMs", d.created_at AS "createdAt",
          d.delivered_at AS "deliveredAt"
        FROM gwk_deliveries_of_message(${id}::uuid, ${MAX_DELIVERIES}::integer) AS d`,
      listEndpoints(db, caller),
    ]);
    const urls = new Map(endpoints.map(({ id: endpointId, url }) => [endpointId, url]));
    const data = rows.flatMap((row) => {
      // Deleted, or not visible to a restricted member.
      const url = urls.get(row.endpointId);
      return url === undefined ? [] : [{ ...deliveryOut(row), endpoint_url: url }];
    });
    return { status: 200, body: { data }, headers: ['Cache-Control', 'no-store'] };
  },
});

const getConsoleDelivery = operation({
  name: 'getConsoleDelivery',
  method: 'GET',
  path: '/console/api/webhook-deliveries/{delivery_id}',
  summary: 'Show a webhook delivery with its request and the last answer',
  scope: null,
  person: 'webhooks:read',
  status: 200,
  result: ConsoleDeliveryOut,
  async handle({ caller, params, services }) {
    const { id } = await findDelivery(services.db, caller, params['delivery_id']!);
    const row = await services.db.webhookDelivery.findUniqueOrThrow({ where: { id } });
    const body = consoleDeliveryOut({ ...row, ...(await describeDelivery(services, caller, row)) });
    return { status: 200, body, headers: ['Cache-Control', 'no-store'] };
  },
});

type Details = DeliveryRow & DescribedDelivery;

const consoleDeliveryOut = rowView<ConsoleDeliveryOut, Details>(ConsoleDeliveryOut, {
  id: ({ id }) => toPublicId('delivery', id),
  endpoint_id: ({ endpointId }) => toPublicId('endpoint', endpointId),
  event_id: ({ eventId }) => toPublicId('event', eventId),
});

export const consoleDeliveryOperations = [listMessageDeliveries, getConsoleDelivery];
