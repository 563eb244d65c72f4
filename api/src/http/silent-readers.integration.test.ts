import { once } from 'node:events';
import type http from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import express, { type RequestHandler } from 'express';
import { until } from '@gwk/test/support/wait';
import { pagesOf } from '../pages/pages.js';
import { connectionsOf, SlowReaders } from '@gwk/test/support/api/slow-readers';
import type { Exchange, Reply } from './exchange.js';
import { OPERATIONS } from './operations.js';
import { respond, type Observer } from './respond.js';
import { createServer } from './server.js';
import type { ApiConfig } from './services.js';
import { respondStream, type EventStream } from './stream.js';

/** Who asks and never takes the answer: nobody's memory and no connection is his for good. */
const SILENCE_MS = 400;
const MB = 1024 * 1024;
const observer: Observer = { answered: () => undefined, closing: false };

let server: http.Server;
const readers = new SlowReaders();
afterEach(() => {
  readers.leave();
  server.close();
});

async function serve(handler: RequestHandler, silenceMs = SILENCE_MS): Promise<void> {
  server = createServer({
    app: express().use(handler),
    maxConnections: 100,
    silenceMs,
    clientError: (_, socket) => socket.destroy(),
    lastResort: (_, __, res) => res.destroy(),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

const asks = (): Socket => readers.ask(connect((server.address() as AddressInfo).port, '127.0.0.1'));

/** More than the kernel keeps for a connection. */
const LARGE = Buffer.alloc(64 * MB);
const answersLarge: RequestHandler = (req, res) =>
  respond(req as Exchange, res as Reply, { status: 200, body: LARGE, type: 'text/plain' }, observer);

test('who reads nothing of an answer is let go', async () => {
  await serve(answersLarge);
  asks();
  await until(async () => (await connectionsOf(server)) === 1, { what: 'the connection stands' });
  await until(async () => (await connectionsOf(server)) === 0, {
    what: 'the connection is closed',
    timeoutMs: 10_000,
  });
});

test('who reads slowly, longer than the limit, gets the whole', async () => {
  // Longer than this process may stand still with a part of the answer untaken, which is silence to it.
  const silenceMs = 3_000;
  await serve(answersLarge, silenceMs);
  const began = performance.now();
  const client = asks();
  let taken = 0;
  for await (const chunk of client as AsyncIterable<Buffer>) {
    const before = Math.floor(taken / (4 * MB));
    taken += chunk.length;
    if (Math.floor(taken / (4 * MB)) > before) await sleep(0.15 * silenceMs);
    if (taken > LARGE.length) break;
  }
  expect(taken).toBeGreaterThan(LARGE.length);
  expect(performance.now() - began).toBeGreaterThan(2 * silenceMs);
}, 60_000);

test('a request that is worked on is not silent too early, and the next of its connection has the same time', async () => {
  await serve((_, res) => void setTimeout(() => res.end('x'), SILENCE_MS / 2));
  const client = asks();
  const [first] = (await once(client.resume(), 'data')) as [Buffer];
  expect(first.toString()).toContain('200 OK');
  client.write('GET / HTTP/1.1\r\nHost: gwk\r\n\r\n');
  const [second] = (await once(client, 'data')) as [Buffer];
  expect(second.toString()).toContain('200 OK');
});

test('what a stream keeps for a client that does not read is bounded', async () => {
  let most = 0;
  let gone: AbortSignal | undefined;
  const produce = async (out: EventStream, res: Reply): Promise<void> => {
    gone = out.signal;
    while (!out.signal.aborted) {
      out.send('much', 'x'.repeat(MB / 4));
      most = Math.max(most, res.writableLength);
      await sleep(1);
    }
  };
  await serve((req, res) =>
    respondStream(req as Exchange, res as Reply, (out) => produce(out, res as Reply), {
      observer,
      failed: () => undefined,
    }),
  );
  asks();
  await until(() => gone?.aborted, { what: 'the stream is ended', timeoutMs: 10_000 });
  expect(most).toBeLessThan(2 * MB);
});

test('a page is kept once, whoever holds it', () => {
  const pages = pagesOf(OPERATIONS, { baseUrl: 'http://127.0.0.1' } as ApiConfig);
  for (const path of ['/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css', '/openapi.json']) {
    const [first, second] = [pages.get(path)!().body, pages.get(path)!().body];
    expect(first).toBeInstanceOf(Buffer);
    expect(second).toBe(first);
  }
});
