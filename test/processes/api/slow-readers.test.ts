import { once } from 'node:events';
import type http from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { processClock } from '@gwk/core/clock';
import express, { type RequestHandler } from 'express';
import type { Exchange, Reply } from '@gwk/api/http/exchange';
import { respond, type Observer } from '@gwk/api/http/respond';
import { createServer } from '@gwk/api/public-api/server';
import { countConnections, SlowReaders } from '../../support/api/slow-readers.js';
import { realTime, until } from '../../support/wait.js';

/** Clients that do not read the response. Node's own timer of the socket measures the idle time. */
const IDLE_MS = realTime(400);
const MB = 1024 * 1024;
const observer: Observer = { answered: () => undefined, closing: false, clock: processClock };

let server: http.Server;
const readers = new SlowReaders();
afterEach(() => {
  readers.leave();
  server.close();
});

async function serve(handler: RequestHandler, silenceMs = IDLE_MS): Promise<void> {
  server = createServer({
    app: express().use(handler),
    maxConnections: 100,
    clientError: (_, socket) => socket.destroy(),
    failed: (_, __, res) => res.destroy(),
  });
  server.setTimeout(silenceMs);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

const asks = (): Socket => readers.ask(connect((server.address() as AddressInfo).port, '127.0.0.1'));

/** More than the kernel buffers for a connection. */
const LARGE = Buffer.alloc(64 * MB);
const answersLarge: RequestHandler = (req, res) =>
  respond(req as Exchange, res as Reply, { status: 200, body: LARGE, type: 'text/plain' }, observer);

test('closes the connection of a client that reads nothing of a response', async () => {
  await serve(answersLarge);
  const connected = once(server, 'connection');
  asks();
  await connected;
  await until(async () => (await countConnections(server)) === 0, { what: 'the connection is closed' });
});

test('sends the whole response to a client that reads slowly, beyond the limit', async () => {
  // Longer than this process may be paused: a pause looks idle to the server.
  const silenceMs = realTime(3_000);
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
});

test('does not close a connection while it handles a request, and gives the next request the same time', async () => {
  await serve((_, res) => void setTimeout(() => res.end('x'), IDLE_MS / 2));
  const client = asks();
  const [first] = (await once(client.resume(), 'data')) as [Buffer];
  expect(first.toString()).toContain('200 OK');
  client.write('GET / HTTP/1.1\r\nHost: gwk\r\n\r\n');
  const [second] = (await once(client, 'data')) as [Buffer];
  expect(second.toString()).toContain('200 OK');
});
