import { toPublicId } from '@gwk/core/ids/ids';
import { DeliveryOut, WebhookEndpointOut } from '../resources/webhook.js';
import type { WebhookDelivery, WebhookEndpoint } from '../generated/prisma/client.js';
import { rowView } from '../http/row-view.js';

/** `secret`: only in the answer to the creation. */
export type EndpointRow = WebhookEndpoint & { instances: { instanceId: string }[]; secret?: string };

export const endpointOut = rowView<WebhookEndpointOut, EndpointRow>(WebhookEndpointOut, {
  id: ({ id }) => toPublicId('endpoint', id),
  instance_ids: ({ instances }) =>
    instances.map(({ instanceId }) => toPublicId('instance', instanceId)).sort(),
});

/** The API does not show the stored response body, which a third party wrote. */
export type DeliveryRow = Omit<WebhookDelivery, 'lastResponseSealed'>;

export const deliveryOut = rowView<DeliveryOut, DeliveryRow>(DeliveryOut, {
  id: ({ id }) => toPublicId('delivery', id),
  endpoint_id: ({ endpointId }) => toPublicId('endpoint', endpointId),
  event_id: ({ eventId }) => toPublicId('event', eventId),
});
