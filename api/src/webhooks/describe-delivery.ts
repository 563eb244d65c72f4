import { mayPair, type Caller } from '../accounts/caller.js';
import { openEventData, openEventText, removeCode } from '../events/emit.js';
import type { WebhookDelivery } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import { buildRequest } from './delivery/prepare.js';
import { openResponse } from './delivery/record-results.js';

const HIDDEN = '••••••';

export interface DescribedDelivery {
  endpointUrl: string;
  /** As the next attempt would send it, without custom headers and signature. Null: the event was deleted. */
  request: { headers: Record<string, string>; body: string } | null;
  /** Stored start of the last answer. */
  response: string | null;
}

/**
 * Describes the request and the last answer of a delivery, for the people who mend the receiver. A signature would make the
 * event a request that the receiver accepts, and an answer may repeat a pairing code.
 */
export async function describeDelivery(
  { db, sealer }: Pick<Services, 'db' | 'sealer'>,
  caller: Caller,
  { accountId, endpointId, eventId, eventType, lastResponseSealed }: WebhookDelivery,
): Promise<DescribedDelivery> {
  const [event, endpoint] = await Promise.all([
    db.event.findUnique({ where: { id: eventId } }),
    db.webhookEndpoint.findUniqueOrThrow({ where: { id: endpointId } }),
  ]);
  const hidesCode = eventType === 'instance.qr' && !mayPair(caller);
  const isShown = lastResponseSealed !== null && !hidesCode;
  const response = isShown ? openResponse(sealer, accountId, lastResponseSealed) : null;
  const described = { endpointUrl: endpoint.url, response };
  if (!event) return { ...described, request: null };
  const custom = Object.fromEntries(endpoint.headerNames.map((name) => [name, HIDDEN]));
  const { id, type, timestamp: at, dataSealed } = event;
  const data = hidesCode
    ? JSON.stringify(removeCode(openEventData(sealer, accountId, dataSealed)))
    : openEventText(sealer, accountId, dataSealed);
  const { headers, body } = buildRequest({ id, type, at, data }, custom, [], new Date());
  return { ...described, request: { headers: { ...headers, 'webhook-signature': HIDDEN }, body } };
}
