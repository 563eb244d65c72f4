import { isDeepStrictEqual } from 'node:util';
import { toPublicId } from '@gwk/core/ids/ids';
import {
  DeliveryListQuery,
  DeliveryOut,
  RetryFailed,
  RetryFailedOut,
  SecretRotationOut,
  WebhookEndpointCreate,
  WebhookEndpointOut,
  WebhookEndpointUpdate,
} from '../resources/webhook.js';
import { z } from 'zod';
import type { Caller } from '../accounts/caller.js';
import type { PageRange } from '../database/keyset-pages.js';
import { pageSchema } from '../http/cursor.js';
import { operation, type Call } from '../http/operation.js';
import { newSuspensionProblem } from '../http/suspension.js';
import { findDelivery, listDeliveries, retryDelivery, sendTest } from './deliveries.js';
import {
  canReplayEndpoint,
  createEndpoint,
  deleteEndpoint,
  findEndpoint,
  listEndpoints,
  rotateSecret,
  updateEndpoint,
} from './endpoints.js';
import { retryFailed } from './resend.js';
import { deliveryOut, endpointOut } from './view.js';

/** A stored answer is replayed only to a caller who can see the endpoint now. */
async function canSeeEndpoint(caller: Caller, _body: unknown, call: Call): Promise<boolean> {
  await findEndpoint(call.services.db, caller, call.params['endpoint_id']!);
  return true;
}

async function canSeeDelivery(caller: Caller, _body: unknown, call: Call): Promise<boolean> {
  await findDelivery(call.services.db, caller, call.params['delivery_id']!);
  return true;
}

export const webhookOperations = [
  operation({
    name: 'listWebhookEndpoints',
    method: 'GET',
    path: '/v1/webhook-endpoints',
    summary: 'List webhook endpoints',
    scope: 'webhooks:read',
    status: 200,
    result: z.array(WebhookEndpointOut).meta({ id: 'WebhookEndpointList' }),
    async handle({ caller, services: { db } }) {
      return { status: 200, body: (await listEndpoints(db, caller)).map(endpointOut) };
    },
  }),

  operation({
    name: 'createWebhookEndpoint',
    method: 'POST',
    path: '/v1/webhook-endpoints',
    summary: 'Register a webhook endpoint; only this answer has its secret',
    scope: 'webhooks:write',
    status: 201,
    body: WebhookEndpointCreate,
    result: WebhookEndpointOut,
    idempotent: true,
    mayReplay: canReplayEndpoint,
    problems: ['not-found', 'forbidden', 'invalid-webhook-url', 'webhook-limit-reached'],
    async handle({ caller, body, resourceId, resumed, services, note }) {
      const { row, secret } = await createEndpoint(services, caller, { id: resourceId, resumed, body });
      note(toPublicId('endpoint', row.id));
      return { status: 201, body: endpointOut({ ...row, secret }) };
    },
  }),

  operation({
    name: 'getWebhookEndpoint',
    method: 'GET',
    path: '/v1/webhook-endpoints/{endpoint_id}',
    summary: 'Get a webhook endpoint',
    scope: 'webhooks:read',
    status: 200,
    result: WebhookEndpointOut,
    async handle({ caller, params, services: { db } }) {
      return { status: 200, body: endpointOut(await findEndpoint(db, caller, params['endpoint_id']!)) };
    },
  }),

  operation({
    name: 'updateWebhookEndpoint',
    method: 'PATCH',
    path: '/v1/webhook-endpoints/{endpoint_id}',
    summary: 'Change a webhook endpoint',
    description: 'A suspended account can only disable it, by `enabled: false` alone.',
    scope: 'webhooks:write',
    status: 200,
    body: WebhookEndpointUpdate,
    result: WebhookEndpointOut,
    problems: ['account-suspended', 'invalid-webhook-url'],
    async handle({ caller, params, body, services }) {
      if (caller.suspended && !isDeepStrictEqual(body, { enabled: false })) throw newSuspensionProblem();
      const row = await updateEndpoint(services, caller, params['endpoint_id']!, body);
      return { status: 200, body: endpointOut(row) };
    },
  }),

  operation({
    name: 'deleteWebhookEndpoint',
    method: 'DELETE',
    path: '/v1/webhook-endpoints/{endpoint_id}',
    summary: 'Delete a webhook endpoint',
    scope: 'webhooks:write',
    status: 204,
    async handle({ caller, params, services: { db } }) {
      await deleteEndpoint(db, caller, params['endpoint_id']!);
      return { status: 204 };
    },
  }),

  operation({
    name: 'rotateWebhookSecret',
    method: 'POST',
    path: '/v1/webhook-endpoints/{endpoint_id}/rotate-secret',
    summary: 'Create a new signing secret, shown once',
    description:
      'Deliveries are also signed with the previous secret for 24 hours. A call has at most five signatures: more rotations within a day end the oldest secret.',
    scope: 'webhooks:write',
    status: 200,
    result: SecretRotationOut,
    idempotent: true,
    mayReplay: canSeeEndpoint,
    async handle({ caller, params, resourceId, resumed, services }) {
      const request = { endpointId: params['endpoint_id']!, secretId: resourceId, resumed };
      return { status: 200, body: await rotateSecret(services, caller, request) };
    },
  }),

  operation({
    name: 'listWebhookDeliveries',
    method: 'GET',
    path: '/v1/webhook-endpoints/{endpoint_id}/deliveries',
    summary: 'List the deliveries of a webhook endpoint, newest first',
    scope: 'webhooks:read',
    status: 200,
    query: DeliveryListQuery,
    result: pageSchema(DeliveryOut, 'DeliveryPage'),
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
