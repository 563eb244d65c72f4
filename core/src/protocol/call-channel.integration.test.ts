import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ManualClock } from '@gwk/test/support/clock';
import { until } from '@gwk/test/support/wait';
import { WebSocketServer, type WebSocket } from 'ws';
import { LEAVE_CODE, MAX_CHANNEL_BODY_BYTES, type ChannelCall } from './call-channel.js';
import { EngineClient, InternalApiUnreachable } from './internal-client.js';

const TIMEOUT_MS = 7_000;
const RENEWAL = { epoch: 1, holder: '00000000-0000-4000-8000-000000000000', connected: true };

/** An internal API that answers HTTP at once, and calls of channels as the test says. */
let server: Server;
let client: EngineClient;
let clock: ManualClock;
let requests: number;
/** Requests to open a channel. */
let tries: number;
/** Answer to requests to open a channel; null: opens it. */
let refusal: { status: number; body: string } | null;
let channels: WebSocket[];
let calls: (ChannelCall & { channel: WebSocket })[];

beforeEach(async () => {
  clock = new ManualClock();
  [requests, tries, refusal, channels, calls] = [0, 0, null, [], []];
  server = createServer((request, response) => {
    requests++;
    request.resume();
    response.end('{"over":"http"}');
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket: Socket, head) => {
    tries++;
    if (refusal) {
      const { status, body } = refusal;
      return socket.end(
        `HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    }
    sockets.handleUpgrade(request, socket, head, (channel) => {
      channels.push(channel);
      channel.on('message', (data: Buffer) => {
        calls.push({ ...(JSON.parse(data.toString()) as ChannelCall), channel });
      });
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  client = new EngineClient({ baseUrl, token: 'a-token', timeoutMs: TIMEOUT_MS, clock });
});

afterEach(async () => {
  client.close();
  for (const channel of channels) channel.terminate();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const renew = (traceparent?: string) => client.call('renew', RENEWAL, undefined, traceparent);

/** Returns a call when it has arrived, and its answer. */
async function renewOverChannel(): Promise<{ call: (typeof calls)[number]; answer: Promise<unknown> }> {
  const before = calls.length;
  const answer = renew().catch((error: unknown) => error);
  await until(() => calls.length > before, { what: 'the call', everyMs: 1 });
  return { call: calls.at(-1)!, answer };
}

const reply = ({ channel, id }: (typeof calls)[number], more: object = {}) =>
  channel.send(JSON.stringify({ id, status: 200, body: { over: 'channel' }, ...more }));

async function openChannel(): Promise<WebSocket> {
  const { call, answer } = await renewOverChannel();
  reply(call);
  expect(await answer).toEqual({ over: 'channel' });
  return call.channel;
}

test('sends a call over the channel, with its trace', async () => {
  await openChannel();
  const traced = renew('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
  await until(() => calls.length === 2, { what: 'the call' });
  expect(calls[1]).toMatchObject({
    route: 'renew',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    body: RENEWAL,
  });
  reply(calls[1]!);
  expect(await traced).toEqual({ over: 'channel' });
});

test('gives each of several calls its own answer', async () => {
  await openChannel();
  const answers = [renew(), renew()];
  await until(() => calls.length === 3, { what: 'the calls' });
  reply(calls[2]!, { body: 'second' });
  reply(calls[1]!, { body: 'first' });
  expect(await Promise.all(answers)).toEqual(['first', 'second']);
});

test.each([
  [409, { error: 'fenced' }, { refusal: 'fenced' }],
  [
    503,
    { error: 'unavailable', retry_after_ms: 5_000 },
    { name: 'InternalApiUnreachable', retryAfterMs: 5_000 },
  ],
  [401, null, { name: 'InternalApiUnreachable' }],
  [undefined, undefined, { name: 'InternalApiUnreachable' }],
])('throws for the status %s', async (status, body, expected) => {
  await openChannel();
  const { call, answer } = await renewOverChannel();
  reply(call, { status, body });
  expect(await answer).toMatchObject(expected);
});

/** Longest time until the next call opens the channel. */
const REOPENS_MS = 5_000;

test.each([
  ['the token', 401, '{"error":"unauthorized"}', { refusal: 'unauthorized' }],
  ['the token in an earlier release', 401, '', { refusal: 'unauthorized' }],
  [
    'more channels',
    503,
    '{"error":"unavailable","retry_after_ms":2000}',
    { message: 'the WebSocket to the internal API did not open: 503' },
  ],
  ['channels', 404, '', { message: 'the WebSocket to the internal API did not open: 404' }],
  ['as a proxy', 426, '<html>', { message: 'the WebSocket to the internal API did not open: 426' }],
])('throws while the API refuses %s, and opens the channel later', async (_, status, body, expected) => {
  refusal = { status, body };
  expect(await Promise.all([renew(), renew()].map((call) => call.catch((error: unknown) => error)))).toEqual([
    expect.objectContaining(expected),
    expect.objectContaining(expected),
  ]);
  refusal = null;
  clock.advance(REOPENS_MS);
  await openChannel();
  expect([requests, tries]).toEqual([0, 2]);
});

test('throws while nothing listens, and opens the channel later', async () => {
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  await expect(renew()).rejects.toMatchObject({
    name: 'InternalApiUnreachable',
    message: expect.stringMatching('the WebSocket to the internal API did not open: .*ECONNREFUSED'),
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  clock.advance(REOPENS_MS);
  await openChannel();
});

/** Calls every 100 ms, as many calls of an engine do together. Returns the times between two tries to open the channel. */
async function callFor(ms: number): Promise<number[]> {
  const triedAt: number[] = [];
  for (let passed = 0; passed < ms; passed += 100) {
    const before = tries;
    await expect(renew()).rejects.toThrow('did not open: 503');
    if (tries > before) triedAt.push(clock.now());
    clock.advance(100);
  }
  return triedAt.slice(1).map((at, n) => at - triedAt[n]!);
}

test('tries to open the channel less and less often, up to every 2.5 to 5 s, and often again once it was open', async () => {
  refusal = { status: 503, body: '{"error":"unavailable"}' };
  const between = await callFor(60_000);
  for (const [n, ms] of between.entries()) {
    const most = Math.min(1_000 * 2 ** n, REOPENS_MS);
    expect(ms).toBeGreaterThanOrEqual(most / 2);
    expect(ms).toBeLessThanOrEqual(most + 100);
  }
  refusal = null;
  clock.advance(REOPENS_MS);
  (await openChannel()).terminate();
  refusal = { status: 503, body: '{"error":"unavailable"}' };
  await until(
    () =>
      renew().then(
        () => false,
        (error: Error) => error.message.endsWith('503'),
      ),
    {
      what: 'the channel is closed',
    },
  );
  clock.advance(1_000);
  expect((await callFor(2_500)).length).toBeGreaterThanOrEqual(1);
});

test('opens the channel no earlier than a refusal asks, and says when', async () => {
  refusal = { status: 503, body: '{"error":"unavailable","retry_after_ms":5000}' };
  const { retryAfterMs } = (await renew().catch((error: unknown) => error)) as InternalApiUnreachable;
  expect(retryAfterMs).toBeGreaterThanOrEqual(5_000);
  expect(retryAfterMs).toBeLessThanOrEqual(7_500);
  refusal = null;
  clock.advance(retryAfterMs! - 1);
  await expect(renew()).rejects.toMatchObject({ retryAfterMs: 1 });
  clock.advance(1);
  await openChannel();
  expect(tries).toBe(2);
});

test('opens the channel at the next call after a try that took long', async () => {
  const open = server.listeners('upgrade')[0] as (...args: unknown[]) => void;
  server.removeAllListeners('upgrade');
  const upgraded = once(server, 'upgrade');
  const call = renew().catch((error: unknown) => error);
  const [, socket] = (await upgraded) as [unknown, Socket];
  clock.advance(REOPENS_MS);
  socket.destroy();
  expect(await call).toMatchObject({ retryAfterMs: null });
  server.on('upgrade', open);
  await openChannel();
});

test('a call that waits for the channel ends by its timeout', async () => {
  server.removeAllListeners('upgrade');
  const upgraded = once(server, 'upgrade');
  const call = expect(renew()).rejects.toThrow('timeout');
  const [, socket] = (await upgraded) as [unknown, Socket];
  clock.advance(TIMEOUT_MS);
  await call;
  socket.destroy();
});

test('sends a call with a large body by HTTP, and one of the limit over the channel', async () => {
  const holder = (size: number) => 'x'.repeat(size - JSON.stringify({ ...RENEWAL, holder: '' }).length);
  const large = { ...RENEWAL, holder: holder(MAX_CHANNEL_BODY_BYTES + 1) };
  expect(await client.call('renew', large)).toEqual({ over: 'http' });
  expect([requests, channels.length]).toEqual([1, 0]);
  void client.call('renew', { ...RENEWAL, holder: holder(MAX_CHANNEL_BODY_BYTES) }).catch(() => undefined);
  await until(() => calls.length === 1, { what: 'the call' });
  expect(requests).toBe(1);
});

test.each([
  ['breaks', (channel: WebSocket) => channel.terminate()],
  ['brings no JSON', (channel: WebSocket) => channel.send('<html>')],
  ['brings null', (channel: WebSocket) => channel.send('null')],
])('throws InternalApiUnreachable when the connection %s, then opens another one', async (_, end) => {
  const channel = await openChannel();
  const { answer } = await renewOverChannel();
  end(channel);
  expect(await answer).toBeInstanceOf(InternalApiUnreachable);
  expect(await openChannel()).not.toBe(channel);
});

test('sends a call that a leaving API did not run over another connection', async () => {
  const channel = await openChannel();
  const { call, answer } = await renewOverChannel();
  channel.close(LEAVE_CODE);
  await until(() => calls.length === 3, { what: 'the call again' });
  const again = calls[2]!;
  expect([again.channel === channel, again.body]).toEqual([false, call.body]);
  reply(again);
  expect(await answer).toEqual({ over: 'channel' });
});

test('throws for a call that two connections leave', async () => {
  const { call, answer } = await renewOverChannel();
  call.channel.close(LEAVE_CODE);
  await until(() => calls.length === 2, { what: 'the call again' });
  calls[1]!.channel.close(LEAVE_CODE);
  expect(await answer).toBeInstanceOf(InternalApiUnreachable);
});

test('a timeout of one call leaves the others their time, and later calls another connection', async () => {
  const channel = await openChannel();
  const first = await renewOverChannel();
  clock.advance(TIMEOUT_MS - 1);
  const second = await renewOverChannel();
  clock.advance(1);
  expect(await first.answer).toMatchObject({ name: 'InternalApiUnreachable', message: 'timeout' });
  expect(await openChannel()).not.toBe(channel);
  const closed = once(channel, 'close');
  reply(second.call);
  expect(await second.answer).toEqual({ over: 'channel' });
  await closed;
});

test('uses another connection after ten minutes, and ends the old one after its last call', async () => {
  const channel = await openChannel();
  const last = await renewOverChannel();
  clock.advanceSilently(11 * 60_000);
  expect(await openChannel()).not.toBe(channel);
  const closed = once(channel, 'close');
  reply(last.call);
  expect(await last.answer).toEqual({ over: 'channel' });
  await closed;
});

test('a closed client ends its connection and the calls that wait', async () => {
  const channel = await openChannel();
  const { answer } = await renewOverChannel();
  const closed = once(channel, 'close');
  client.close();
  expect(await answer).toBeInstanceOf(InternalApiUnreachable);
  await closed;
});
