import { once } from 'node:events';
import http from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { LATE_REQUEST_MS } from '@gwk/core/http/listener-limits';
import { pause, until } from '@gwk/test/support/wait';
import express, { type Express } from 'express';
import type { Exchange, Reply } from '../http/exchange.js';
import { createServer } from './server.js';

/**
 * Guards upgrades of Node and Express: requests and responses must be created with the prototypes of Express.
 * If the classes of Node become real classes, the constructors here can no longer be called. If Express stops
 * setting prototypes, the constructors are unnecessary.
 */
async function inspectRequest<T>(inspect: (req: Exchange, res: Reply) => T): Promise<T> {
  const app = express();
  let seen: T | undefined;
  app.use((req, res) => {
    seen = inspect(req as Exchange, res);
    res.end();
  });
  const server = createServer({
    app,
    maxConnections: 100,
    clientError: (_, socket) => socket.destroy(),
    failed: (_, __, res) => res.destroy(),
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await fetch(`http://127.0.0.1:${port}/path?a=1`);
  await new Promise((resolve) => server.close(resolve));
  return seen!;
}

test('requests and responses have the prototypes of both Node and Express', async () => {
  const seen = await inspectRequest((req, res) => ({
    node: [req instanceof http.IncomingMessage, res instanceof http.ServerResponse],
    express: [typeof req.get, typeof res.status],
    prototypes: [
      Object.getPrototypeOf(req) === (req.app as Express).request,
      Object.getPrototypeOf(res) === (req.app as Express).response,
    ],
    url: req.url,
    agent: req.get('user-agent'),
  }));
  expect(seen).toMatchObject({
    node: [true, true],
    express: ['function', 'function'],
    prototypes: [true, true],
    url: '/path?a=1',
    agent: expect.any(String) as string,
  });
});

test('requests and responses have fast properties in V8', async () => {
  setFlagsFromString('--allow-natives-syntax');
  const isFast = runInThisContext('(object) => %HasFastProperties(object)') as (object: object) => boolean;
  expect(await inspectRequest((req, res) => [isFast(req), isFast(res)])).toEqual([true, true]);
});

test('no request or response changes its prototype', async () => {
  const original = Object.setPrototypeOf.bind(Object);
  let changed = 0;
  Object.setPrototypeOf = <T>(object: T, prototype: object | null): T => {
    const known = object instanceof http.IncomingMessage || object instanceof http.ServerResponse;
    if (known && Object.getPrototypeOf(object) !== prototype) changed++;
    return original(object, prototype) as T;
  };
  try {
    await inspectRequest(() => undefined);
  } finally {
    Object.setPrototypeOf = original;
  }
  expect(changed).toBe(0);
});

test('all requests have their fields from creation', async () => {
  const names = await inspectRequest((req) => Object.keys(req));
  for (const name of ['requestId', 'caller', 'rate', 'operation', 'workingSince', 'subject', 'refusal']) {
    expect(names).toContain(name);
  }
});

test('survives a client that disconnects after an early answer', async () => {
  const app = express();
  app.use((_, res) => void res.end());
  const server = createServer({
    app,
    maxConnections: 100,
    clientError: (_, socket) => socket.destroy(),
    failed: (_, __, res) => res.destroy(),
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nHost: gwk\r\nContent-Length: 10\r\n\r\n');
  await once(socket, 'data');
  socket.destroy();
  // An error in the timer would end the process.
  await pause(LATE_REQUEST_MS + 200);
  await new Promise((resolve) => server.close(resolve));
});

test('closes new connections of an address above its limit', async () => {
  const app = express();
  app.use((_, res) => void res.end());
  const server = createServer({
    app,
    maxConnections: 100,
    maxConnectionsPerAddress: 3,
    clientError: (_, socket) => socket.destroy(),
    failed: (_, __, res) => res.destroy(),
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const open = async () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nHost: gwk\r\n\r\n');
    const answered = await Promise.race([
      once(socket, 'data').then(() => true),
      once(socket, 'close').then(() => false),
    ]);
    return { socket, answered };
  };
  const connections = [await open(), await open(), await open(), await open()];
  expect(connections.map(({ answered }) => answered)).toEqual([true, true, true, false]);
  const closed = once(connections[0]!.socket, 'close');
  connections[0]!.socket.destroy();
  await closed;
  await until(async () => (await open()).answered, { what: 'a closed connection made room' });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
