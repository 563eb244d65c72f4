import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createLogger } from '@gwk/core/process/log';
import type { Listener } from '@gwk/core/http/listener-limits';
import { listen } from '@gwk/operator/http/server';
import { realTime } from '../../support/wait.js';

/** Node's socket timeout. Longer than this process may stall between a connection and its request. */
const IDLE_MS = realTime(1_000);
/** More than the socket buffers of a client that does not read. */
const LARGE = 64 * 1024 * 1024;
const asking = new EventEmitter();
let disconnected: Promise<unknown>;
let server: Listener;
beforeAll(async () => {
  server = await listen(
    { host: '127.0.0.1', port: 0 },
    [
      (exchange) => {
        disconnected = once(exchange.response, 'close');
        asking.emit('large');
        exchange.response.end(Buffer.alloc(LARGE));
        return true;
      },
    ],
    createLogger('operator', 'error'),
    IDLE_MS,
  );
});
afterAll(() => server.close());

function ask(path: string): Socket {
  const client = connect(server.port, '127.0.0.1').on('error', () => undefined);
  client.write(`GET ${path} HTTP/1.1\r\nHost: gwk\r\n\r\n`);
  return client;
}

async function requestWithoutReading(): Promise<Socket> {
  const asked = once(asking, 'large');
  const client = ask('/large').pause();
  const closed = once(client, 'close').then(() =>
    Promise.reject(new Error('closed before the request arrived')),
  );
  await Promise.race([asked, closed]);
  await disconnected;
  return client;
}

test('disconnects a client that does not read', async () => {
  const client = await requestWithoutReading();
  let taken = 0;
  client.on('data', (chunk: Buffer) => (taken += chunk.length)).resume();
  await once(client, 'close');
  expect(taken).toBeLessThan(LARGE);
});
