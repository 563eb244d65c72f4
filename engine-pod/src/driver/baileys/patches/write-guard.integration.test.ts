import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { ManualClock } from '@gwk/test/support/clock';
import { until } from '@gwk/test/support/wait';
import type { WASocket } from '@whiskeysockets/baileys';
import { WebSocket, WebSocketServer } from 'ws';
import { WriteGuard } from './write-guard.js';

/** More than the buffers of both kernels. */
const LARGE = 64_000_000;
const WRITE_MS = 20_000;
let server: WebSocketServer;
let client: WebSocket;
let clock: ManualClock;

beforeEach(async () => {
  server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const accepted = once(server, 'connection');
  await once(client, 'open');
  await accepted;
  clock = new ManualClock();
  new WriteGuard({ ws: { socket: client } } as unknown as WASocket, () => true, clock);
});
afterEach(() => {
  client.terminate();
  for (const one of server.clients) one.terminate();
  server.close();
});

test('a write fails after 20 s if the other side reads nothing', async () => {
  for (const one of server.clients) one.pause();
  const results: (Error | undefined)[] = [];
  client.send(Buffer.alloc(LARGE), (error) => results.push(error));
  await until(() => clock.count(WRITE_MS) === 1, { what: 'the frame is limited' });
  clock.advance(WRITE_MS - 1);
  expect(results).toEqual([]);
  clock.advance(1);
  expect(results).toEqual([new Error('the frame was not written in time')]);
});

test('a written frame leaves no timer', async () => {
  await new Promise<void>((resolve, reject) =>
    client.send(Buffer.alloc(10), (error) => (error ? reject(error) : resolve())),
  );
  expect(clock.count(WRITE_MS)).toBe(0);
});
