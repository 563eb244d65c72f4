import { toPublicId } from '@gwk/core/ids';
import {
  SecretRotationOut,
  WebhookEndpointCreate,
  WebhookEndpointOut,
  WebhookEndpointUpdate,
} from '@gwk/core/resources/webhook';
import { z } from 'zod';
import { operation } from '../http/operation.js';
import { deliveryOperations, canSeeEndpoint } from './delivery-operations.js';
import {
  createEndpoint,
  deleteEndpoint,
  findEndpoint,
  listEndpoints,
  canReplayEndpoint,
  updateEndpoint,
} from './endpoints.js';
import { rotateSecret } from './rotation.js';
import { endpointOut } from './view.js';

export const webhookOperations = [
  operation({
    name: 'listWebhookEndpoints',
    method: 'GET',
    path: '/v1/webhook-endpoints',
    summary: 'List webhook endpoints',
    scope: 'webhooks:read',
    status: 200,
    result: z.array(WebhookEndpointOut),
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
    scope: 'webhooks:write',
    status: 200,
    body: WebhookEndpointUpdate,
    result: WebhookEndpointOut,
    problems: ['invalid-webhook-url'],
    async handle({ caller, params, body, services }) {
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

  ...deliveryOperations,
];
