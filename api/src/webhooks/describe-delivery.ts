import { toWebhookKey } from '@gwk/core/webhook-signature';
import { openEventText } from '../events/emit.js';
import type { WebhookDelivery } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import { buildRequest } from './delivery/prepare.js';
import { openResponse } from './delivery/record-results.js';
import { openWebhookSecret } from './secrets.js';

const HIDDEN = '••••••';

export interface DescribedDelivery {
  endpointUrl: string;
  /** As the next attempt would send it, without the values of custom headers. Null: the event was deleted. */
  request: { headers: Record<string, string>; body: string } | null;
  /** Stored start of the last answer. */
  response: string | null;
}

/** Describes the request and the last answer of a delivery, for the people who mend the receiver. */
export async function describeDelivery(
  { db, sealer }: Pick<Services, 'db' | 'sealer'>,
  { accountId, endpointId, eventId, lastResponseSealed }: WebhookDelivery,
): Promise<DescribedDelivery> {
  const now = new Date();
  const [event, endpoint] = await Promise.all([
    db.event.findUnique({ where: { id: eventId } }),
    db.webhookEndpoint.findUniqueOrThrow({
      where: { id: endpointId },
      include: { secrets: { where: { OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] } } },
    }),
  ]);
  const response = lastResponseSealed && openResponse(sealer, accountId, lastResponseSealed);
  const described = { endpointUrl: endpoint.url, response };
  if (!event) return { ...described, request: null };
  const custom = Object.fromEntries(endpoint.headerNames.map((name) => [name, HIDDEN]));
  const keys = endpoint.secrets.map(({ secretSealed }) =>
    toWebhookKey(openWebhookSecret(sealer, accountId, secretSealed)),
  );
  const data = openEventText(sealer, accountId, event.dataSealed);
  const { id, type, timestamp: at } = event;
  return { ...described, request: buildRequest({ id, type, at, data }, custom, keys, now) };
}
