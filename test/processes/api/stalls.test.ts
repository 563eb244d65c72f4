import type { Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { until } from '../../support/wait.js';
import { processClock } from '@gwk/core/clock';
import express from 'express';
import { clientErrorHandler } from '@gwk/api/public-api/client-error';
import type { Exchange, Reply } from '@gwk/api/http/exchange';
import { InFlight } from '@gwk/api/http/in-flight';
import { createServer } from '@gwk/api/public-api/server';

/** Responses of a process that was paused (stopped, or without CPU time) to clients that were in time. */
const HEADERS_MS = 1_000;
const verdict = { limit: 1, remaining: 1, resetAt: 0, allowed: true } as never;

let server: Server;
let inFlight: InFlight;
let late: Exchange[];
beforeEach(async () => {
  late = [];
  const giveUp = (_: unknown, req: Exchange, res: Reply): void => {
    late.push(req);
    res.destroy();
  };
  inFlight = new InFlight(processClock, giveUp, () => undefined);
  const app = express();
  app.use((request, res) => {
    const req = request as Exchange;
    // Started long ago, so the next check finds it late.
    req.arrivedAt = performance.now() - 60_000;
    inFlight.enter(req, res);
    req.resume().on('end', () => {
      inFlight.leave(req);
      res.end('read');
    });
  });
  server = createServer({
    app,
    maxConnections: 10,
    clientError: clientErrorHandler('https://docs.example', () => verdict, inFlight),
    failed: (_, __, res) => res.destroy(),
  });
  server.headersTimeout = HEADERS_MS;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  inFlight.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

let served: Socket;
async function connected(): Promise<Socket> {
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  served = await accepted;
  return socket;
}

/** Blocks the whole process: timers and sockets. */
const blockProcess = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

const HEAD = 'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 4\r\n';

test('answers a request that arrived completely during a pause', async () => {
  const socket = await connected();
  socket.write(`${HEAD}\r\nbody`);
  blockProcess(HEADERS_MS * 2.5);
  expect(await text(socket)).toMatch(/^HTTP\/1.1 200 .*read$/s);
});

test('answers a request whose body was completed during a pause', async () => {
  const socket = await connected();
  const begun = new Promise((resolve) => server.once('request', resolve));
  socket.write(`${HEAD}\r\nbo`);
  await begun;
  socket.write('dy');
  blockProcess(HEADERS_MS * 2.5);
  expect(await text(socket)).toMatch(/^HTTP\/1.1 200 .*read$/s);
  expect(late).toEqual([]);
});

test('answers 422 timeout to a request that was not completed during a pause', async () => {
  const socket = await connected();
  socket.write(HEAD);
  await until(() => served.bytesRead === HEAD.length, { what: 'the head is read' });
  blockProcess(HEADERS_MS * 2.5);
  expect(await text(socket)).toMatch(/^HTTP\/1.1 422 .*"timeout"/s);
});

test('rejects an incomplete body as soon as the process has read what arrived', async () => {
  const socket = await connected();
  socket.write(`${HEAD}\r\nbo`);
  await new Promise((resolve) => server.once('request', resolve));
  blockProcess(HEADERS_MS * 2.5);
  expect(await text(socket)).toBe('');
  expect(late).toHaveLength(1);
});
