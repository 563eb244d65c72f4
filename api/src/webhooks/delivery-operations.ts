import { toPublicId } from '@gwk/core/ids';
import { DeliveryListQuery, DeliveryOut, RetryFailedOut, RetryFailed } from '@gwk/core/resources/webhook';
import type { Caller } from '../accounts/caller.js';
import { operation, type Call } from '../http/operation.js';
import { pageSchema } from '../http/cursor.js';
import type { PageRange } from '../database/keyset-pages.js';
import { findDelivery, listDeliveries, retryDelivery, sendTest } from './deliveries.js';
import { findEndpoint } from './endpoints.js';
import { retryFailed } from './resend.js';
import { deliveryOut } from './view.js';

/** A stored answer is replayed only to a caller who can see the endpoint now. */
export async function canSeeEndpoint(caller: Caller, _body: unknown, call: Call): Promise<boolean> {
  await findEndpoint(call.services.db, caller, call.params['endpoint_id']!);
  return true;
}

async function canSeeDelivery(caller: Caller, _body: unknown, call: Call): Promise<boolean> {
  await findDelivery(call.services.db, caller, call.params['delivery_id']!);
  return true;
}

export const deliveryOperations = [
  operation({
    name: 'listWebhookDeliveries',
    method: 'GET',
    path: '/v1/webhook-endpoints/{endpoint_id}/deliveries',
    summary: 'List the deliveries of a webhook endpoint, newest first',
    scope: 'webhooks:read',
    status: 200,
    query: DeliveryListQuery,
    result: pageSchema(DeliveryOut),
    async handle({ caller, params, query, services: { db, cursors } }) {
      const { id: endpointId } = await findEndpoint(db, caller, params['endpoint_id']!);
      const route = `GET /v1/webhook-endpoints/${endpointId}/deliveries`;
      const read = (page: PageRange) =>
        listDeliveries(db, caller, { endpointId, status: query.status, ...page });
      return cursors.page({ accountId: caller.accountId, route, query }, read, deliveryOut);
    },
  }),

  operation({
    name: 'testWebhookEndpoint',
    method: 'POST',
    path: '/v1/webhook-endpoints/{endpoint_id}/test',
    summary: 'Send a webhook.test event to an endpoint',
    description: 'Ignores the filters of the endpoint. A disabled endpoint gets one attempt.',
    scope: 'webhooks:write',
    status: 202,
    result: DeliveryOut,
    idempotent: true,
    mayReplay: canSeeEndpoint,
    async handle({ caller, params, resourceId, resumed, services, note }) {
      const request = { endpointId: params['endpoint_id']!, deliveryId: resourceId, resumed };
      const row = await sendTest(services, caller, request);
      note(toPublicId('delivery', row.id));
      return { status: 202, body: deliveryOut(row) };
    },
  }),

  operation({
    name: 'retryFailedWebhookDeliveries',
    method: 'POST',
    path: '/v1/webhook-endpoints/{endpoint_id}/retry-failed',
    summary: 'Send the failed deliveries of a period again',
    description:
      'Selects failed deliveries created from `since` to `until` (both included; default: now). Large numbers are queued in batches after the answer.',
    scope: 'webhooks:write',
    status: 200,
    body: RetryFailed,
    result: RetryFailedOut,
    idempotent: true,
    mayReplay: canSeeEndpoint,
    async handle({ caller, params, body, resourceId, services: { db } }) {
      const request = { endpointId: params['endpoint_id']!, jobId: resourceId, body };
      return { status: 200, body: { retried: await retryFailed(db, caller, request) } };
    },
  }),

  operation({
    name: 'retryWebhookDelivery',
    method: 'POST',
    path: '/v1/webhook-deliveries/{delivery_id}/retry',
    summary: 'Send a delivery again',
    description:
      'Accepts a failed or succeeded delivery and starts the whole schedule of attempts. A disabled endpoint gets one attempt.',
    scope: 'webhooks:write',
    status: 202,
    result: DeliveryOut,
    idempotent: true,
    mayReplay: canSeeDelivery,
    problems: ['delivery-pending'],
    async handle({ caller, params, resumed, services: { db } }) {
      const row = await retryDelivery(db, caller, params['delivery_id']!, resumed);
      return { status: 202, body: deliveryOut(row) };
    },
  }),
];
