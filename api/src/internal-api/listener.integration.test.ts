import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { ENGINE_ROUTES } from '@gwk/core/protocol/engine';
import { InternalApiUnreachable } from '@gwk/core/protocol/internal-client';
import { OPERATOR_ROUTES } from '@gwk/core/protocol/operator';
import { createLogger } from '@gwk/core/process/log';
import type { ApiConfig } from '../http/services.js';
import {
  createInternalApiWorld,
  filesIn,
  newTransfers,
  NO_LIVE_ENGINES,
  OPERATOR_TOKEN,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import { Registry } from 'prom-client';
import { openDatabase } from '../database/database.js';
import { startInternalListener } from './listener.js';

let internalApi: InternalApiWorld;
let engine: TestEngine;
const lines: string[] = [];
beforeAll(async () => {
  internalApi = await createInternalApiWorld({ log: { write: (line) => void lines.push(line) } });
  engine = await (await internalApi.addEngine()).acquire();
});
afterAll(() => internalApi.close());

interface CallOptions {
  method?: string;
  token?: string;
  body?: string | Uint8Array<ArrayBuffer>;
}
async function call(path: string, { method = 'POST', token = engine.token, body = '{}' }: CallOptions = {}) {
  const response = await fetch(new URL(path, internalApi.url), {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(method !== 'GET' && { body }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
const lease = () => engine.lease;

describe('a call', () => {
  test('to an unknown route or with another method is 404', async () => {
    for (const path of [
      '/',
      '/engine/none',
      '/engine/renew/',
      '/operator/none',
      '/v1/messages',
      '/engine/renew?x=1',
    ]) {
      expect([path, (await call(path)).status]).toEqual([path, 404]);
    }
    expect((await call('/engine/renew', { method: 'GET' })).status).toBe(404);
    expect((await call('/engine/renew', { method: 'PUT' })).status).toBe(404);
  });

  test('with values that Postgres cannot store is 422, so that it is not repeated for ever', async () => {
    const at = '0000-01-01T00:00:00Z';
    const now = new Date().toISOString();
    const outcome = { kind: 'receipt', wa_message_id: 'x', status: 'read', at };
    const ban = { state: 'banned', at: now, reason: null, ban: { code: '402', expires_at: at } };
    const dropped = { state: 'disconnected', at: now, reason: null, reconnect: { count: 2 ** 31, at: null } };
    for (const [route, fields] of [
      ['outcomes', { outcomes: [outcome] }],
      ['state', { number: 1, changes: [ban] }],
      ['state', { number: 1, changes: [dropped] }],
      ['restricted', { number: 0, until: null }],
      ['restricted', { number: 2 ** 53, until: null }],
      ['renew', { epoch: 2 ** 31 }],
    ] as const) {
      const { status, body } = await call(`/engine/${route}`, {
        body: JSON.stringify({ ...lease(), ...fields }),
      });
      expect([route, status, body['error']]).toEqual([route, 422, 'invalid']);
    }
  });

  test('without credentials is 401 on every route, whatever its body', async () => {
    const paths = [
      ...Object.keys(ENGINE_ROUTES).map((route) => `/engine/${route}`),
      ...Object.keys(OPERATOR_ROUTES).map((route) => `/operator/${route}`),
    ];
    for (const path of paths) {
      const response = await fetch(new URL(path, internalApi.url), { method: 'POST', body: 'not JSON' });
      expect([path, response.status, await response.json()]).toEqual([path, 401, { error: 'unauthorized' }]);
    }
  });

  test.each([
    ['malformed JSON', '{"epoch": 1'],
    ['an array', '[]'],
    ['a missing field', JSON.stringify({ epoch: 1, holder: randomUUID() })],
    ['a wrong type', JSON.stringify({ epoch: 'one', holder: randomUUID(), connected: true })],
    ['bytes that are not UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
    ['an empty body', ''],
  ])('with %s is 422', async (_, body) => {
    const answer = await call('/engine/renew', { body });
    expect(answer.status).toBe(422);
    expect(answer.body['error']).toBe('invalid');
    expect(answer.body['issues']).not.toHaveLength(0);
  });

  test('with fields of a newer engine is answered', async () => {
    const body = JSON.stringify({ ...lease(), connected: true, more: 1 });
    expect((await call('/engine/renew', { body })).status).toBe(200);
  });

  test('with a body that is too large is 422, and the next call succeeds', async () => {
    const body = JSON.stringify({ ...lease(), connected: true, more: 'x'.repeat(200_000) });
    expect((await call('/engine/renew', { body })).status).toBe(422);
    expect(
      (await call('/engine/renew', { body: JSON.stringify({ ...lease(), connected: true }) })).status,
    ).toBe(200);
  });

  test('that stops half-way affects no other', async () => {
    const request = httpRequest(new URL('/engine/renew', internalApi.url), {
      method: 'POST',
      headers: { authorization: `Bearer ${engine.token}`, 'content-length': 100 },
    });
    request.on('error', () => undefined);
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    const onStart = (message: unknown) => {
      const { headers } = (message as { request: IncomingMessage }).request;
      if (headers['content-length'] === '100') resolve();
    };
    subscribe('http.server.request.start', onStart);
    request.write('{"epoch":');
    await begun.finally(() => unsubscribe('http.server.request.start', onStart));
    request.destroy();
    expect(
      (await call('/engine/renew', { body: JSON.stringify({ ...lease(), connected: true }) })).status,
    ).toBe(200);
  });

  test('may contain NUL, which is removed', async () => {
    const entry = { type: 'creds', key: 'a\u0000b', value: 'AAAA' };
    await engine.call('session-write', { entries: [entry] });
    const read = await engine.call('session-read', { wanted: [{ type: 'creds', keys: ['ab'] }] });
    expect(read.entries).toEqual([{ ...entry, key: 'ab' }]);
  });
});

test('logs contain nothing of the bodies and tokens of calls', async () => {
  const marker = `marker-${randomUUID()}`;
  const to = '5511966660001';
  await internalApi.accept({ instance: engine.instanceId, to, text: marker });
  const [message] = await engine.claim();
  await engine.build(message!.message_id);
  const error = { code: 'wa_error' as const, message: marker };
  const at = new Date().toISOString();
  await engine.report({ kind: 'failed', message_id: message!.message_id, at, error });
  await engine.call('session-write', { entries: [{ type: marker, key: marker, value: btoa(marker) }] });
  await engine.call('state', { changes: [{ state: 'disconnected', at, reason: marker }] });
  const person = { id: '12345678@lid', alt: null, name: marker };
  const notice = { kind: 'group' as const, id: marker, at, chat: '120363000000000001@g.us', subject: marker };
  await engine.call('notices', { notices: [{ ...notice, from: person, from_me: false, joined: [person] }] });
  await call('/engine/renew', { body: JSON.stringify({ ...lease(), connected: marker }) });
  await call('/engine/renew', { body: marker });
  await call('/operator/observe', { token: OPERATOR_TOKEN, body: JSON.stringify({ ids: [marker] }) });
  expect(lines.length).toBeGreaterThan(0);
  const secrets = [marker, btoa(marker), engine.token, OPERATOR_TOKEN, lease().holder];
  for (const secret of secrets) expect(lines.join('\n')).not.toContain(secret);
});

test('calls and requests to open a channel are 503 while Postgres is unavailable', async () => {
  const registry = new Registry();
  const logged: string[] = [];
  const database = openDatabase({ url: 'postgresql://gwk@127.0.0.1:1/none', poolSize: 2, program: 'test' });
  const { world } = internalApi;
  const listener = await startInternalListener({
    config: {
      internalHost: '127.0.0.1',
      internalPort: 0,
      internalMaxConnections: 100,
      internalTlsCert: () => undefined,
      internalTlsKey: () => undefined,
      operatorToken: OPERATOR_TOKEN,
      leaseMs: 45_000,
      leaseRenewMs: 10_000,
      redisUrl: 'redis://127.0.0.1:1',
      redisCa: undefined,
      redisPrefix: 'test:',
      engineRedisUrl: undefined,
      redisAcl: true,
      environment: 'test',
      clusterNamespace: 'default',
      maxInstances: 10,
    } as Partial<ApiConfig> as ApiConfig,
    environmentPolicy: {},
    database,
    redis: world.redis,
    sealer: world.sealer,
    transfers: newTransfers(),
    media: { files: filesIn('/nowhere', database, world.sealer) },
    acceptor: world.acceptor(),
    live: NO_LIVE_ENGINES,
    log: createLogger('test', 'error', { write: (line) => void logged.push(line) }),
    registry,
  });
  const response = await fetch(`http://127.0.0.1:${listener.port}/engine/renew`, {
    method: 'POST',
    headers: { authorization: `Bearer ${engine.token}` },
    body: JSON.stringify({ ...lease(), connected: true }),
  });
  expect(response.status).toBe(503);
  expect(await response.json()).toEqual({ error: 'unavailable' });
  const client = internalApi.clientWith(engine.token, `http://127.0.0.1:${listener.port}/`);
  const error = await client
    .call('renew', { ...lease(), connected: true })
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ message: 'the WebSocket to the internal API did not open: 503' });
  expect((error as InternalApiUnreachable).retryAfterMs).toBeGreaterThan(4_000);
  const logs = logged.map((line) => JSON.parse(line) as { route: string; msg: string });
  expect(logs.map(({ route, msg }) => [route, msg])).toEqual([
    ['/engine/renew', 'internal call failed'],
    ['/engine/calls', 'internal call failed'],
  ]);
  expect(await registry.metrics()).toContain(
    'gwk_internal_call_duration_seconds_count{route="/engine/calls",status="503"} 1',
  );
  await listener.close();
  await database.$disconnect();
});

test('a closing listener answers calls under way', async () => {
  const own = await createInternalApiWorld();
  const engines = await Promise.all(Array.from({ length: 5 }, async () => (await own.addEngine()).acquire()));
  const calls = engines.map((one) => one.call('renew', { connected: true }));
  await new Promise((resolve) => setImmediate(resolve));
  const closed = own.close();
  const answers = await Promise.allSettled(calls);
  await closed;
  for (const answer of answers) {
    if (answer.status === 'rejected') expect(answer.reason).toBeInstanceOf(InternalApiUnreachable);
  }
  await expect(fetch(new URL('/engine/renew', own.url), { method: 'POST' })).rejects.toThrow();
});
