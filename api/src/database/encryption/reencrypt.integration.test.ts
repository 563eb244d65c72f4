import { randomBytes } from 'node:crypto';
import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import type { InstanceOut } from '../../resources/instance.js';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { openApi } from '@gwk/test/support/api/open-api';
import { WrongEncryptionKey } from '../key-check.js';
import { openContent } from '../../messages/content.js';
import { openWebhookSecret } from '../../webhooks/secrets.js';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { makeWorld, type World } from '@gwk/test/support/api/world';
import { SEALED } from './columns.js';
import { reencrypt, countByKey } from './reencrypt.js';

let api: TestApi;
let world: World;
const newer = randomBytes(32).toString('base64');

beforeAll(async () => {
  api = await openApi();
  world = await makeWorld(api, await api.account());
});
afterAll(() => api.stop());

const sealerOf = (...keys: string[]) => new Sealer(parseEncryptionKeys(keys.join(',')));
const replicaWith = async (...keys: string[]) => {
  const { port } = await api.addReplica({ GWK_ENCRYPTION_KEYS: keys.join(',') });
  return api.client((await api.key(world.account)).key, port);
};

/** Reads all data of a customer; every call decrypts something. */
async function readAll(
  client: ReturnType<TestApi['client']>,
  retry: { key: string; name: string; id: string },
) {
  const { instance_id, media_id, message_id, endpoint_id } = world.ids;
  const events = await client.call<Page<{ data: unknown }>>('GET', '/v1/events');
  const media = await client.call<{ filename: string; url: string }>('GET', `/v1/media/${media_id}`);
  const link = new URL(media.body.url);
  const file = await fetch(`http://127.0.0.1:${client.port}${link.pathname}${link.search}`);
  const body = { name: retry.name, kind: 'sandbox' };
  const again = await client.call<InstanceOut>('POST', '/v1/instances', {
    body,
    headers: { 'idempotency-key': retry.key },
  });
  return {
    statuses: [
      events.status,
      media.status,
      file.status,
      (await client.call('GET', `/v1/messages/${message_id}`)).status,
      (await client.call('POST', `/v1/webhook-endpoints/${endpoint_id}/test`)).status,
      (await client.call('GET', `/v1/instances/${instance_id}`)).status,
    ],
    events: events.body.data.length > 0,
    filename: media.body.filename,
    again: again.body.id === retry.id ? 'the same answer' : again.body,
  };
}

const WHOLE = {
  statuses: [200, 200, 200, 200, 202, 200],
  events: true,
  filename: 'a.txt',
  again: 'the same answer',
};

test('the list of encrypted columns is complete', async () => {
  const rows = await api.db.$queryRaw<{ name: string }[]>`
    SELECT c.relname || '.' || a.attname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND a.attname LIKE '%sealed' AND NOT a.attisdropped`;
  const known = [...SEALED.map(({ table, column }) => `${table}.${column}`), 'key_checks.sealed'];
  expect(known.sort()).toEqual(rows.map(({ name }) => name).sort());
});

test('a key rotation keeps all data readable, and the old key can be removed at the end', async () => {
  const old = api.encryptionKeys;
  const retry = { key: newUuid(), name: 'again' };
  const first = await world.client.call<InstanceOut>('POST', '/v1/instances', {
    body: { name: retry.name, kind: 'sandbox' },
    headers: { 'idempotency-key': retry.key },
  });
  const given = { ...retry, id: first.body.id };
  const cursor = (await world.client.call<Page<unknown>>('GET', '/v1/instances?limit=1')).body.next_cursor!;

  // All replicas can decrypt with both keys before one encrypts with the new key.
  const both = await replicaWith(old, newer);
  const turned = await replicaWith(newer, old);
  expect([await readAll(both, given), await readAll(turned, given)]).toEqual([WHOLE, WHOLE]);
  const made = await turned.call<InstanceOut>('POST', '/v1/instances', {
    body: { name: 'new', kind: 'sandbox' },
  });
  expect((await both.call('GET', `/v1/instances/${made.body.id}`)).status).toBe(200);
  expect((await turned.call('GET', `/v1/instances?limit=1&cursor=${cursor}`)).status).toBe(200);
  await expect(api.addReplica({ GWK_ENCRYPTION_KEYS: newer })).rejects.toThrow(WrongEncryptionKey);
  const [former] = parseEncryptionKeys(old);
  const before = await countByKey(api.db, sealerOf(newer, old));
  expect(before.rows[former!.id]).toBeGreaterThan(5);

  const done = await reencrypt(api.db, sealerOf(newer, old), { pageRows: 2 });
  expect(done).toMatchObject({ retired: [former!.id], left: 0 });
  expect(done.reencrypted).toBe(before.rows[former!.id]);
  const alone = await replicaWith(newer);
  expect(await readAll(alone, given)).toMatchObject({ ...WHOLE, again: expect.anything() as unknown });
  const sealer = sealerOf(newer);
  const content = await api.db.messageContent.findFirstOrThrow({
    where: { messageId: fromPublicId('message', world.ids['message_id']!)! },
  });
  expect(openContent(sealer, content.instanceId, content.contentSealed)).toContain('oi');
  const secret = await api.db.webhookSecret.findFirstOrThrow();
  expect(openWebhookSecret(sealer, world.account.id, secret.secretSealed)).toMatch(/^whsec_/);
});

test('a program that still encrypts with the old key prevents its retirement', async () => {
  const third = randomBytes(32).toString('base64');
  const sealer = sealerOf(third, newer);
  const straggler = sealerOf(newer);
  const id = newUuid();
  const write = async () => {
    const { sealEventData } = await import('../../events/emit.js');
    const dataSealed = new Uint8Array(sealEventData(straggler, world.account.id, { a: 1 }));
    const row = { id, accountId: world.account.id, type: 'webhook.test', timestamp: new Date(), dataSealed };
    await api.db.event.upsert({ where: { id }, create: row, update: { dataSealed } });
  };
  await write();
  const done = await reencrypt(api.db, sealer, { beforeFinalCount: write });
  expect(done).toMatchObject({ retired: [], left: 1 });
  expect(await reencrypt(api.db, sealer)).toMatchObject({ left: 0, reencrypted: 1 });
});
