import { toPublicId } from '@gwk/core/ids';
import {
  DeliveryListQuery,
  DeliveryOut,
  WebhookEndpointCreate,
  WebhookEndpointOut,
  WebhookEndpointUpdate,
} from '@gwk/core/resources/webhook';
import { z } from 'zod';
import { restrictionOf } from '../accounts/caller.js';
import { operation } from '../http/operation.js';
import { pageOf } from '../http/page.js';
import {
  createEndpoint,
  deleteEndpoint,
  findEndpoint,
  listEndpoints,
  mayReplayEndpoint,
  updateEndpoint,
} from './endpoints.js';
import { deliveryOut, endpointOut } from './view.js';

export const webhookOperations = [
  operation({
    name: 'listWebhookEndpoints',
    method: 'GET',
    path: '/v1/webhook-endpoints',
    summary: 'List webhook destinations',
    scope: 'webhooks:read',
    status: 200,
    result: z.array(WebhookEndpointOut),
    async handle({ caller, services: { db } }) {
      const rows = await listEndpoints(db, caller);
      return { status: 200, body: rows.map((row) => endpointOut(row)) };
    },
  }),

  operation({
    name: 'createWebhookEndpoint',
    method: 'POST',
    path: '/v1/webhook-endpoints',
    summary: 'Register a webhook destination; the answer has its secret, once',
    scope: 'webhooks:write',
    status: 201,
    body: WebhookEndpointCreate,
    result: WebhookEndpointOut,
    idempotent: true,
    mayReplay: mayReplayEndpoint,
    problems: ['forbidden', 'invalid-webhook-url', 'webhook-limit-reached'],
    async handle({ caller, body, resourceId, resumed, services, note }) {
      const { row, secret } = await createEndpoint(services, caller, { id: resourceId, resumed, body });
      note(toPublicId('endpoint', row.id));
      return { status: 201, body: endpointOut(row, secret) };
    },
  }),

  operation({
    name: 'getWebhookEndpoint',
    method: 'GET',
    path: '/v1/webhook-endpoints/{endpoint_id}',
    summary: 'A webhook destination',
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
    summary: 'Change a webhook destination',
    scope: 'webhooks:write',
    status: 200,
    body: WebhookEndpointUpdate,
    result: WebhookEndpointOut,
    problems: ['forbidden', 'invalid-webhook-url'],
    async handle({ caller, params, body, services }) {
      const row = await updateEndpoint(services, caller, params['endpoint_id']!, body);
      return { status: 200, body: endpointOut(row) };
    },
  }),

  operation({
    name: 'deleteWebhookEndpoint',
    method: 'DELETE',
    path: '/v1/webhook-endpoints/{endpoint_id}',
    summary: 'Remove a webhook destination',
    scope: 'webhooks:write',
    status: 204,
    async handle({ caller, params, services: { db } }) {
      await deleteEndpoint(db, caller, params['endpoint_id']!);
      return { status: 204 };
    },
  }),

  operation({
    name: 'listWebhookDeliveries',
    method: 'GET',
    path: '/v1/webhook-endpoints/{endpoint_id}/deliveries',
    summary: 'List deliveries to a webhook destination',
    scope: 'webhooks:read',
    status: 200,
    query: DeliveryListQuery,
    result: pageOf(DeliveryOut),
    async handle({ caller, params, query: { limit, cursor, ...filters }, services: { db, cursors } }) {
      const endpoint = await findEndpoint(db, caller, params['endpoint_id']!);
      const route = `GET /v1/webhook-endpoints/${endpoint.id}/deliveries`;
      const list = { accountId: caller.accountId, route, filters };
      const after = cursors.read(list, cursor);
      const restriction = restrictionOf(caller);
      const rows = await db.webhookDelivery.findMany({
        where: {
          endpointId: endpoint.id,
          ...(filters.status !== undefined && { status: filters.status }),
          AND: [
            after === null ? {} : { id: { lt: after } },
            restriction ? { OR: [{ instanceId: { in: restriction } }, { instanceId: null }] } : {},
          ],
        },
        omit: { lastResponseSealed: true },
        orderBy: { id: 'desc' },
        take: limit + 1,
      });
      return { status: 200, body: cursors.page(list, limit, rows, deliveryOut) };
    },
  }),
];
