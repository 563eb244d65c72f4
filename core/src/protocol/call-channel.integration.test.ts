import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ManualClock } from '@gwk/test/support/clock';
import { until } from '@gwk/test/support/wait';
import { WebSocketServer, type WebSocket } from 'ws';
import { LEAVE_CODE, type ChannelCall } from './call-channel.js';
import { EngineClient, InternalApiUnreachable } from './internal-client.js';

const TIMEOUT_MS = 7_000;
const RENEWAL = { epoch: 1, holder: '00000000-0000-4000-8000-000000000000', connected: true };

/** An internal API that answers HTTP at once, and calls of channels as the test says. */
let server: Server;
let client: EngineClient;
let clock: ManualClock;
let requests: number;
let refused: number;
let acceptsChannels: boolean;
let channels: WebSocket[];
let calls: (ChannelCall & { channel: WebSocket })[];

beforeEach(async () => {
  clock = new ManualClock();
  [requests, refused, acceptsChannels, channels, calls] = [0, 0, true, [], []];
  server = createServer((request, response) => {
    requests++;
    request.resume();
    response.end('{"over":"http"}');
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket: Socket, head) => {
    if (!acceptsChannels) {
      refused++;
      return socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
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

/** Calls by HTTP until a call uses the channel. Returns that call and its answer. */
async function renewOverChannel(): Promise<{ call: (typeof calls)[number]; answer: Promise<unknown> }> {
  const before = calls.length;
  for (;;) {
    const sent = requests;
    const answer = renew().catch((error: unknown) => error);
    await until(() => requests > sent || calls.length > before, { what: 'the call', everyMs: 1 });
    if (calls.length > before) return { call: calls.at(-1)!, answer };
    await answer;
  }
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

test('uses HTTP while the API refuses the channel, and asks again after 10 s', async () => {
  acceptsChannels = false;
  expect(await renew()).toEqual({ over: 'http' });
  await until(() => refused === 1, { what: 'the refusal' });
  clock.advance(9_999);
  expect(await renew()).toEqual({ over: 'http' });
  acceptsChannels = true;
  clock.advance(1);
  await openChannel();
  expect(refused).toBe(1);
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

test('sends calls by HTTP that a leaving API did not run', async () => {
  const channel = await openChannel();
  const { answer } = await renewOverChannel();
  channel.close(LEAVE_CODE);
  expect(await answer).toEqual({ over: 'http' });
  expect(await openChannel()).not.toBe(channel);
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

test('a connection that answers no call counts as one that did not open', async () => {
  const { call, answer } = await renewOverChannel();
  call.channel.terminate();
  expect(await answer).toBeInstanceOf(InternalApiUnreachable);
  for (let calls = 0; calls < 3; calls++) expect(await renew()).toEqual({ over: 'http' });
  expect(channels).toHaveLength(1);
  clock.advance(10_000);
  await openChannel();
});
