import { fromPublicId, newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { InstanceOut } from '@gwk/api/resources/instance';
import type { MediaOut } from '@gwk/core/resources/media';
import type { MessageOut } from '@gwk/core/resources/message';
import type { WebhookEndpointOut } from '@gwk/api/resources/webhook';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { emit } from '@gwk/api/events/emit';
import type { TestAccount, TestApi } from './test-api.js';
import type { ApiClient } from './client.js';
import { upload } from './upload.js';

/** One of each resource that a path can name, in one account. For tests that iterate over all operations. */
export interface World {
  account: TestAccount;
  client: ApiClient;
  /** Ids by the name of the path parameter. */
  ids: Readonly<Record<string, string>>;
}

const PHONE = '5511987654321';

export async function makeWorld(api: TestApi, account: TestAccount, name = 'one'): Promise<World> {
  const client = await api.clientOf(account);
  const instance = await client.call<InstanceOut>('POST', '/v1/instances', {
    body: { name, kind: 'sandbox' },
  });
  const instance_id = instance.body.id;
  const [message, endpoint, media] = await Promise.all([
    client.call<MessageOut>('POST', '/v1/messages', {
      body: { instance_id, to: PHONE, type: 'text', text: { body: 'oi' } },
    }),
    client.call<WebhookEndpointOut>('POST', '/v1/webhook-endpoints', {
      body: { url: 'https://example.org/hook', instance_ids: [instance_id] },
    }),
    upload<MediaOut>(client, [{ name: 'file', filename: 'a.txt', content: 'of this account alone' }]),
  ]);
  for (const { status } of [instance, message, endpoint, media]) {
    if (status >= 300) throw new Error(`creating the world failed with status ${status}`);
  }
  const { conversation_id } = (await client.call<MessageOut>('GET', `/v1/messages/${message.body.id}`)).body;
  const of = { accountId: account.id, instanceId: fromPublicId('instance', instance_id)! };
  const endpointId = fromPublicId('endpoint', endpoint.body.id)!;
  const [eventId] = await emit(api.db, new Sealer(parseEncryptionKeys(api.encryptionKeys)), [
    {
      ...of,
      type: 'instance.connected',
      data: { instance_id, timestamp: new Date().toISOString(), jid: null },
    },
  ]);
  const deliveryId = newUuid();
  await api.db.webhookDelivery.create({
    data: {
      ...of,
      id: deliveryId,
      endpointId,
      eventId: eventId!,
      eventType: 'instance.connected',
      status: 'failed',
      createdAt: new Date(),
    },
  });
  return {
    account,
    client,
    ids: {
      instance_id,
      message_id: message.body.id,
      conversation_id: conversation_id!,
      media_id: media.body.id,
      event_id: toPublicId('event', eventId!),
      endpoint_id: endpoint.body.id,
      delivery_id: toPublicId('delivery', deliveryId),
      phone: PHONE,
      chat: PHONE,
      group: '120363000000000001@g.us',
    },
  };
}
