import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { realTime } from '../../support/wait.js';
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.js';
import { openDatabase, type Database } from '@gwk/api/database/database';

/** Between a program and Postgres: a host that goes without a word is one through which nothing comes any more. */
class Wire {
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

  /** Connections of now hear nothing any more; those to come reach the next host. */
  silence(): void {
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
let wire: Wire;
let database: Database;

beforeEach(async () => {
  place = await createTestDatabase();
  const url = new URL(place.url);
  wire = new Wire(new URL(place.url));
  url.host = await wire.open();
  const statementTimeoutMs = STATEMENT_TIMEOUT_MS;
  database = openDatabase({ url: url.href, poolSize: POOL, program: 'silent', statementTimeoutMs });
});

afterEach(async () => {
  await database.$disconnect();
  await wire.close();
  await place.drop();
});

const ask = () => database.callRows('SELECT pg_backend_pid()::text', []);
const inLine = () => database.callPipelined('SELECT pg_backend_pid()::text', []);

/** All connections are there. */
beforeEach(() => Promise.all(Array.from({ length: POOL }, ask)));

const ends = async (call: Promise<unknown>): Promise<number> => {
  const begun = performance.now();
  await expect(call).rejects.toThrow('Postgres');
  return performance.now() - begun;
};

async function expectAnother(took: Promise<number[]>): Promise<void> {
  for (const ms of await took) {
    expect(ms).toBeGreaterThan(STATEMENT_TIMEOUT_MS);
    expect(ms).toBeLessThan(STATEMENT_TIMEOUT_MS + realTime(8_000));
  }
  expect(await Promise.all([ask(), inLine()])).toHaveLength(2);
}

test('where the host is gone without a word, what was asked of it fails, and what comes then finds another', async () => {
  wire.silence();
  await expectAnother(Promise.all(Array.from({ length: POOL }, () => ends(ask()))));
});

test('statements in line fail together', async () => {
  wire.silence();
  await expectAnother(Promise.all([inLine(), inLine(), ask(), ask()].map(ends)));
});

test('a line is given up although statements go on being put behind those that wait', async () => {
  wire.silence();
  const first = ends(inLine());
  const more = setInterval(() => void inLine().catch(() => undefined), 200);
  try {
    await expectAnother(Promise.all([first]));
  } finally {
    clearInterval(more);
  }
});

test('a transaction fails that was under way', async () => {
  const transaction = database.$transaction(
    async (tx) => {
      await tx.$queryRaw`SELECT 1`;
      wire.silence();
      await tx.$queryRaw`SELECT 1`;
    },
    { timeout: 60_000 },
  );
  await expectAnother(Promise.all([ends(transaction)]));
});

test('a statement that takes its time is left alone, and so are those that wait behind it', async () => {
  const patient = openDatabase({ url: place.url, poolSize: 1, program: 'patient', statementTimeoutMs: 0 });
  try {
    const slow = patient.callPipelined('SELECT pg_sleep(7)::text', []);
    expect(await Promise.all([slow, patient.callPipelined('SELECT 1::text', [])])).toEqual([[''], ['1']]);
  } finally {
    await patient.$disconnect();
  }
});
