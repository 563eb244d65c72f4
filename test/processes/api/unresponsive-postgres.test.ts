import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { realTime } from '../../support/wait.js';
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.js';
import { openDatabase, type Database } from '@gwk/api/database/database';

/** Proxy between a program and Postgres. It simulates a host that disappears without closing its connections. */
class Proxy {
  readonly #server;
  readonly #sockets = new Set<Socket>();

  constructor(target: URL) {
    this.#server = createServer((client) => {
      const server = connect(Number(target.port), target.hostname);
      client.pipe(server).pipe(client);
      for (const socket of [client, server]) {
        this.#sockets.add(socket);
        socket.on('error', () => socket.destroy()).on('close', () => this.#sockets.delete(socket));
      }
      client.on('close', () => server.destroy());
    });
  }

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Existing connections transfer nothing any more. New connections work. */
  freeze(): void {
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

const STATEMENT_TIMEOUT_MS = 300;
const POOL = 3;
let place: TestDatabase;
let proxy: Proxy;
let database: Database;

beforeEach(async () => {
  place = await createTestDatabase();
  const url = new URL(place.url);
  proxy = new Proxy(new URL(place.url));
  url.host = await proxy.open();
  const statementTimeoutMs = STATEMENT_TIMEOUT_MS;
  database = openDatabase({ url: url.href, poolSize: POOL, program: 'test', statementTimeoutMs });
});

afterEach(async () => {
  await database.$disconnect();
  await proxy.close();
  await place.drop();
});

const ask = () => database.callFunction('SELECT pg_backend_pid()::text', []);

/** Opens all connections of the pool. */
beforeEach(() => Promise.all(Array.from({ length: POOL }, ask)));

const timeToFailure = async (call: Promise<unknown>): Promise<number> => {
  const begun = performance.now();
  await expect(call).rejects.toThrow('Postgres');
  return performance.now() - begun;
};

async function expectReconnect(took: Promise<number[]>): Promise<void> {
  for (const ms of await took) {
    expect(ms).toBeGreaterThan(STATEMENT_TIMEOUT_MS);
    expect(ms).toBeLessThan(STATEMENT_TIMEOUT_MS + realTime(8_000));
  }
  expect(await Promise.all([ask(), ask()])).toHaveLength(2);
}

test('statements fail when the host disappears, and later ones reconnect', async () => {
  proxy.freeze();
  await expectReconnect(Promise.all(Array.from({ length: POOL }, () => timeToFailure(ask()))));
});

test('an open transaction fails', async () => {
  const transaction = database.$transaction(
    async (tx) => {
      await tx.$queryRaw`SELECT 1`;
      proxy.freeze();
      await tx.$queryRaw`SELECT 1`;
    },
    { timeout: 60_000 },
  );
  await expectReconnect(Promise.all([timeToFailure(transaction)]));
});

test('a slow statement is not aborted, and one that gets no connection for 3 s fails', async () => {
  const withoutTimeout = openDatabase({
    url: place.url,
    poolSize: 1,
    program: 'test',
    statementTimeoutMs: 0,
  });
  try {
    const slow = withoutTimeout.callFunction('SELECT pg_sleep(7)::text', []);
    await expect(withoutTimeout.callFunction('SELECT 1::text', [])).rejects.toThrow('timeout exceeded');
    expect(await slow).toEqual(['']);
  } finally {
    await withoutTimeout.$disconnect();
  }
});
