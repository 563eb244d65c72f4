import type { EventType } from '@gwk/core/events';
import { toPublicId } from '@gwk/core/ids';
import type { DeliveryOut, DisableReason, WebhookEndpointOut } from '@gwk/core/resources/webhook';
import type { DeliveryStatus } from '@gwk/core/states';
import type { WebhookDelivery, WebhookEndpoint } from '../generated/prisma/client.js';

export type EndpointRow = WebhookEndpoint & { instances: { instanceId: string }[] };

/** @param secret only in the answer to the creation */
export function endpointOut(row: EndpointRow, secret?: string): WebhookEndpointOut {
  return {
    id: toPublicId('endpoint', row.id),
    url: row.url,
    event_types: row.eventTypes as EventType[],
    instance_ids: row.instances.map(({ instanceId }) => toPublicId('instance', instanceId)).sort(),
    description: row.description,
    enabled: row.enabled,
    disabled_reason: row.disabledReason as DisableReason | null,
    disabled_at: row.disabledAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
    ...(secret !== undefined && { secret }),
  };
}

/** The API does not show the stored response body, which a third party wrote. */
export type DeliveryRow = Omit<WebhookDelivery, 'lastResponseSealed'>;

export function deliveryOut(row: DeliveryRow): DeliveryOut {
  return {
    id: toPublicId('delivery', row.id),
    endpoint_id: toPublicId('endpoint', row.endpointId),
    event_id: toPublicId('event', row.eventId),
    event_type: row.eventType as EventType,
    status: row.status as DeliveryStatus,
    attempts: row.attempts,
    next_attempt_at: row.nextAttemptAt?.toISOString() ?? null,
    last_status_code: row.lastStatusCode,
    last_error: row.lastError,
    last_latency_ms: row.lastLatencyMs,
    created_at: row.createdAt.toISOString(),
    delivered_at: row.deliveredAt?.toISOString() ?? null,
  };
}
