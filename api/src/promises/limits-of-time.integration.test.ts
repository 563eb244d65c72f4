import { existsSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fromPublicId } from '@gwk/core/ids';
import type { InstanceOut } from '@gwk/core/resources/instance';
import type { MediaOut } from '@gwk/core/resources/media';
import type { PairingOut } from '@gwk/core/resources/pairing';
import type { RotatedSecretOut } from '@gwk/core/resources/webhook';
import { recordIdOf } from '../idempotency/record-id.js';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';
import { makeWorld, type World } from '@gwk/test/support/api/world';

/** The rows of the table of limits (spec: Limits) that are about time. */
let api: TestApi;
let world: World;
let account: TestAccount;
let client: ApiClient;
let ids: World['ids'];

beforeAll(async () => {
  api = await openApi();
});
beforeEach(async () => {
  account = await api.account();
  world = await makeWorld(api, account);
  ({ client, ids } = world);
});
afterAll(() => api.stop());

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const fromNow = (time: string | Date) => new Date(time).getTime() - Date.now();

async function webInstance(): Promise<string> {
  const { body } = await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'web' } });
  return body.id;
}

test('idempotency window: 24 hours', async () => {
  const optOut = () =>
    client.call('POST', '/v1/opt-outs', {
      body: { phone: '5511900000009' },
      headers: { 'idempotency-key': 'k' },
    });
  expect((await optOut()).status).toBe(201);
  expect((await optOut()).headers['idempotent-replayed']).toBe('true');
  const where = { id: recordIdOf({ accountId: account.id, route: 'POST /v1/opt-outs', key: 'k' }) };
  const { expiresAt } = await api.db.idempotencyRecord.findFirstOrThrow({ where });
  expect(Math.abs(fromNow(expiresAt) - DAY)).toBeLessThan(60_000);
  await api.db.idempotencyRecord.updateMany({ where, data: { expiresAt: new Date() } });
  const later = await optOut();
  expect([later.status, later.headers['idempotent-replayed']]).toEqual([200, undefined]);
});

test('media validity: 30 days', async () => {
  const path = `/v1/media/${ids['media_id']!}`;
  const { body } = await client.call<MediaOut>('GET', path);
  const days = (Date.parse(body.expires_at) - Date.parse(body.created_at)) / DAY;
  expect(Math.abs(days - 30)).toBeLessThan(0.001);
  const where = { id: fromPublicId('media', ids['media_id']!)! };
  await api.db.media.update({ where, data: { expiresAt: new Date() } });
  expect((await client.call('GET', path)).body.type).toMatch(/media-expired$/);
  const { instance_id, media_id, phone } = ids;
  const message = { instance_id, to: phone, type: 'sticker', sticker: { media: { media_id } } };
  expect((await client.call('POST', '/v1/messages', { body: message })).body.type).toMatch(
    /media-not-found$/,
  );
});

test('webhook secret rotation overlap: 24 hours dual signing', async () => {
  const path = `/v1/webhook-endpoints/${ids['endpoint_id']!}/rotate-secret`;
  const { body } = await client.call<RotatedSecretOut>('POST', path);
  expect(Math.abs(fromNow(body.previous_expires_at) - DAY)).toBeLessThan(60_000);
});

test('QR validity: about 20 seconds', async () => {
  const id = await webInstance();
  const engine = await api.engine(id);
  engine.obey.pair = async ({ session }) => {
    await engine.showQr(session as string, 'a QR');
    return {};
  };
  const { body } = await client.call<PairingOut>('POST', `/v1/instances/${id}/pairing`);
  expect(body.qr!.expires_in_s).toBeGreaterThan(15);
  expect(body.qr!.expires_in_s).toBeLessThanOrEqual(20);
});

test('stream keep-alive: ping every 15 seconds', async () => {
  const path = `/v1/instances/${await webInstance()}/pairing/stream`;
  const { key } = await api.key(account);
  const opened = performance.now();
  const pings = await new Promise<number[]>((resolve, reject) => {
    const times: number[] = [];
    const headers = { authorization: `Bearer ${key}` };
    const call = get({ host: '127.0.0.1', port: api.port, path, headers }, (response) => {
      response.on('data', (chunk: Buffer) => {
        const said = chunk.toString().match(/^: ping$/gm) ?? [];
        times.push(...said.map(() => performance.now() - opened));
        if (times.length < 2) return;
        call.destroy();
        resolve(times);
      });
    });
    call.on('error', reject);
  });
  expect(pings[0]).toBeGreaterThan(14_000);
  expect(pings[1]! - pings[0]!).toBeGreaterThan(14_000);
  expect(pings[1]).toBeLessThan(35_000);
}, 60_000);

/** Rows that another suite proves, where the engine, the worker or the clock that they need are. */
const PROVED: [row: string, file: string, test: string][] = [
  [
    'edit window: 15 minutes after sending',
    'api/src/messages/alter/alter.integration.test.ts',
    'an edit after its 15 minutes',
  ],
  [
    'queue retention while the connection is out: 15 minutes, then `expired`',
    'api/src/worker/sweeps/waiting.integration.test.ts',
    'those that waited 15 minutes while the instance was out expire',
  ],
  [
    'interactive menu reply window: 24 hours (`menu_ttl_hours`)',
    'core/src/menus/replies.test.ts',
    'to the end of its 24 hours',
  ],
  ['event history: 90 days', 'test/processes/kept.test.ts', '90 days later'],
  [
    'received-media link: 24 hours',
    'api/src/webhooks/verified.integration.test.ts',
    'LINK_MS = 24 * 3_600_000',
  ],
];
const root = fileURLToPath(new URL('../../../', import.meta.url));

test.each(PROVED)('%s: in %s', (_, file, name) => {
  const path = join(root, file);
  expect(existsSync(path) && readFileSync(path, 'utf8').includes(name)).toBe(true);
});
