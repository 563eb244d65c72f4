import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LEAVE_CODE, MAX_CALL_BYTES } from '@gwk/core/protocol/call-channel';
import { RawChannel } from '@gwk/test/support/api/raw-channel';
import {
  createInternalApiWorld,
  OPERATOR_TOKEN,
  readRefusal,
  sharedInternalApi,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import { countRequests } from '@gwk/test/support/api/requests';
import { until } from '@gwk/test/support/wait';
import { RefusalError } from '../fencing/refusal.js';
import { CallChannels, isChannelRequest, type IncomingCall, type Reply } from './call-channels.js';

/** The connection ended without a close frame. */
const ABNORMAL = 1006;

describe('a channel to the internal API', () => {
  let internalApi: InternalApiWorld;
  let engine: TestEngine;
  let channel: RawChannel;
  beforeAll(async () => {
    internalApi = await sharedInternalApi();
  });
  afterAll(() => internalApi.close());
  beforeEach(async () => {
    engine = await (await internalApi.addEngine()).acquire();
    channel = await RawChannel.open(internalApi.url, engine.token);
  });
  afterEach(() => channel.socket.terminate());

  const renewal = () => ({ ...engine.lease, connected: true });

  test('answers calls as HTTP does', async () => {
    expect(await channel.call(7, 'renew', renewal())).toMatchObject({
      id: 7,
      status: 200,
      body: { lease_ms: 45_000 },
    });
    const outdated = { ...renewal(), epoch: engine.lease.epoch + 1 };
    expect(await channel.call(8, 'renew', outdated)).toEqual({
      id: 8,
      status: 409,
      body: { error: 'fenced' },
    });
    for (const route of ['none', 'calls', 'media-download', '../operator/observe']) {
      expect(await channel.call(9, route, {})).toEqual({
        id: 9,
        status: 404,
        body: { error: 'not-found' },
      });
    }
  });

  test.each([
    ['a missing field', { epoch: 1 }],
    ['an array', []],
    ['null', null],
  ])('answers 422 to a call with %s', async (_, body) => {
    const { status, body: answer } = await channel.call(1, 'renew', body);
    expect([status, answer]).toMatchObject([422, { error: 'invalid' }]);
    expect((await channel.call(2, 'renew', renewal())).status).toBe(200);
  });

  test('removes NUL from a call, which Postgres cannot store', async () => {
    const entry = { type: 'creds', key: 'a\u0000b', value: 'AAAA' };
    await channel.call(1, 'session-write', { ...engine.lease, number: 1, entries: [entry] });
    const wanted = [{ type: 'creds', keys: ['ab'] }];
    const { body } = await channel.call(2, 'session-read', { ...engine.lease, wanted });
    expect(body).toMatchObject({ entries: [{ ...entry, key: 'ab' }] });
  });

  test.each([
    ['text', 'garbage'],
    ['null', 'null'],
    ['a call without an id', '{"route":"renew","body":{}}'],
    ['a call without a body', '{"id":1,"route":"renew"}'],
    ['a binary frame', Buffer.from('{"id":1,"route":"renew","body":{}}')],
    [
      'a frame that is too large',
      JSON.stringify({ id: 1, route: 'renew', body: 'x'.repeat(MAX_CALL_BYTES) }),
    ],
  ])('ends after %s, and others go on', async (_, frame) => {
    const other = await RawChannel.open(internalApi.url, engine.token);
    channel.socket.send(frame);
    await channel.closed;
    expect((await other.call(1, 'renew', renewal())).status).toBe(200);
    other.socket.terminate();
  });

  test('refuses the calls of a token that is revoked', async () => {
    expect((await channel.call(1, 'renew', renewal())).status).toBe(200);
    const where = { instanceId: engine.instanceId };
    await internalApi.world.database.engineToken.updateMany({ where, data: { revokedAt: new Date() } });
    await until(async () => (await channel.call(2, 'renew', renewal())).status === 401, {
      what: 'the cached token has expired',
    });
    expect(await channel.closed).toBe(1005);
    expect(await readRefusal(engine.call('renew', { connected: true }))).toBe('unauthorized');
  });

  test('opens with the token of an engine only', async () => {
    for (const token of ['wrong', OPERATOR_TOKEN])
      await expect(RawChannel.open(internalApi.url, token)).rejects.toThrow('401');
  });

  test('answers 426 to a request without an upgrade', async () => {
    const response = await fetch(new URL('/engine/calls', internalApi.url));
    expect([response.status, response.headers.get('upgrade')]).toEqual([426, 'websocket']);
    expect(await response.json()).toEqual({ error: 'upgrade-required' });
  });

  test('opens on no other path, and not with another protocol', async () => {
    for (const [method, path, upgrade, status] of [
      ['GET', '/', 'websocket', 404],
      ['GET', '/engine/calls?x=1', 'websocket', 404],
      ['GET', '/engine/calls', 'h2c', 426],
      ['POST', '/engine/calls', 'websocket', 404],
      ['POST', '/engine/renew', 'h2c', 200],
      ['GET', '/engine/calls', 'websocket', 400],
    ] as const) {
      const response = await askToUpgrade(method, path, upgrade);
      expect([method, path, upgrade, response.statusCode]).toEqual([method, path, upgrade, status]);
      response.resume();
    }
  });

  async function askToUpgrade(method: string, path: string, upgrade: string): Promise<IncomingMessage> {
    const headers = { authorization: `Bearer ${engine.token}`, connection: 'upgrade', upgrade };
    const request = httpRequest(new URL(path, internalApi.url), { method, headers });
    request.end(method === 'POST' ? JSON.stringify(renewal()) : undefined);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  }

  test('carries the small calls of engines', async () => {
    const requests = countRequests('/engine/renew');
    await engine.call('renew', { connected: true });
    const entries = [{ type: 'creds', key: 'large', value: btoa('x'.repeat(MAX_CALL_BYTES)) }];
    const large = countRequests('/engine/session-write');
    await engine.call('session-write', { entries });
    expect(large.count).toBe(1);
    expect(await readRefusal(engine.call('renew', { connected: true }))).toBe('answered');
    const { lease } = engine;
    engine.with({ ...lease, epoch: lease.epoch + 1 });
    expect(await readRefusal(engine.call('renew', { connected: true }))).toBe('fenced');
    expect(requests.count).toBe(0);
    for (const counter of [requests, large]) counter.stop();
  });
});

test('a closing listener answers calls under way, then closes their channels', async () => {
  const own = await createInternalApiWorld();
  const engine = await (await own.addEngine()).acquire();
  const channel = await RawChannel.open(own.url, engine.token);
  const closing = Promise.withResolvers<Promise<void>>();
  let call: ReturnType<RawChannel['call']> | undefined;
  await own.world.database.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT 1 FROM instance_leases WHERE instance_id = ${engine.instanceId}::uuid FOR UPDATE`;
    call = channel.call(1, 'renew', { ...engine.lease, connected: true });
    await until(
      async () => {
        const waiting = await own.world.database.$queryRaw<unknown[]>`
        SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        return waiting.length > 0;
      },
      { what: 'the call waits for the lock' },
    );
    closing.resolve(own.closeReplicas());
  });
  expect(await call).toMatchObject({ status: 200 });
  expect(await channel.closed).toBe(LEAVE_CODE);
  await closing.promise;
  await own.close();
});

/** Channels whose calls the test answers. */
async function openChannels(silenceMs = 120_000) {
  const calls: { call: IncomingCall; reply: Reply; done: () => void }[] = [];
  const opened: [status: number, isComplete: boolean][] = [];
  const channels = new CallChannels({
    authenticate: (authorization) =>
      authorization === 'Bearer token'
        ? Promise.resolve({ instanceId: 'one' })
        : Promise.reject(new RefusalError('unauthorized')),
    observe: () => (status, isComplete) => void opened.push([status, isComplete]),
    answer: (call, reply) => new Promise((done) => calls.push({ call, reply, done })),
    silenceMs,
  });
  const server = createServer({ shouldUpgradeCallback: isChannelRequest });
  channels.attach(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answerNext = async () => {
    const { reply, done } = calls.shift()!;
    const hasLeft = await reply({ status: 200, text: '{}' });
    done();
    return hasLeft;
  };
  return { channels, server, url, calls, opened, answerNext };
}

describe('channels', () => {
  let opened: Awaited<ReturnType<typeof openChannels>>;
  let channel: RawChannel;
  beforeEach(async () => {
    opened = await openChannels();
    channel = await RawChannel.open(opened.url, 'token');
  });
  afterEach(async () => {
    opened.channels.terminate();
    await new Promise((resolve) => opened.server.close(resolve));
  });

  test('answer all calls of an engine that sends many at once', async () => {
    const body = 'x'.repeat(50_000);
    const answers = Array.from({ length: 200 }, (_, id) => channel.call(id, 'renew', body));
    let most = 0;
    for (let answered = 0; answered < 200; answered++) {
      await until(() => opened.calls.length > 0, { what: 'a call', everyMs: 1 });
      most = Math.max(most, opened.calls.length);
      await opened.answerNext();
    }
    expect(await Promise.all(answers)).toHaveLength(200);
    // The calls of frames that had arrived come on top, at most one chunk of the socket.
    expect(most).toBeLessThan(40);
  });

  test('close with calls in progress: answer these, run no later ones', async () => {
    const { calls, channels, answerNext } = opened;
    const first = channel.call(1, 'renew', {});
    await until(() => calls.length === 1, { what: 'the call' });
    channels.close();
    void channel.call(2, 'renew', {});
    await expect(RawChannel.open(opened.url, 'token')).rejects.toThrow('503');
    expect(calls).toHaveLength(1);
    await answerNext();
    expect(await first).toMatchObject({ id: 1, status: 200 });
    expect(await channel.closed).toBe(LEAVE_CODE);
    expect(calls).toHaveLength(0);
  });

  test('are measured by the status of the answer that opens or refuses them', async () => {
    await expect(RawChannel.open(opened.url, 'wrong')).rejects.toThrow('401');
    const headers = { authorization: 'Bearer token', connection: 'upgrade', upgrade: 'websocket' };
    const request = httpRequest(new URL('/engine/calls', opened.url), { headers });
    request.end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    expect(opened.opened).toEqual([
      [101, true],
      [401, true],
      [400, true],
    ]);
  });

  test('report that an answer did not leave', async () => {
    const { calls, answerNext } = opened;
    void channel.call(1, 'renew', {});
    await until(() => calls.length === 1, { what: 'the call' });
    channel.socket.terminate();
    const { reply } = calls[0]!;
    await until(async () => !(await reply({ status: 200, text: '{}' })), { what: 'the end of the channel' });
    expect(await answerNext()).toBe(false);
  });

  test('without calls in progress close when the server is at its limit of connections', async () => {
    const { calls, server, answerNext } = opened;
    const busy = await RawChannel.open(opened.url, 'token');
    const call = busy.call(1, 'renew', {});
    await until(() => calls.length === 1, { what: 'the call' });
    server.closeIdleConnections();
    expect(await channel.closed).toBe(LEAVE_CODE);
    await answerNext();
    expect(await call).toMatchObject({ status: 200 });
  });

  test('of one instance are at most four: a further one replaces the oldest', async () => {
    const more = await Promise.all([1, 2, 3].map(() => RawChannel.open(opened.url, 'token')));
    const fifth = await RawChannel.open(opened.url, 'token');
    expect(await channel.closed).toBe(ABNORMAL);
    for (const open of [...more, fifth]) expect(open.socket.readyState).toBe(open.socket.OPEN);
  });
});

test('a channel without calls ends after the idle timeout', async () => {
  const { url, server } = await openChannels(300);
  const channel = await RawChannel.open(url, 'token');
  expect(await channel.closed).toBe(ABNORMAL);
  await new Promise((resolve) => server.close(resolve));
});
