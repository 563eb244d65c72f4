import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { limitConnections } from '@gwk/core/http/listener-limits';
import { TEST_CERTIFICATE } from '@gwk/test/support/certificate';
import { until } from '@gwk/test/support/wait';
import { countConnections, SlowReaders } from '@gwk/test/support/api/slow-readers';

/** Answers that are written while their clients have not read them yet. */
const { key, cert } = TEST_CERTIFICATE;
/** More than the kernel buffers for one connection. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, 'gwk');
const SMALL = 'small';
let server: http.Server;
const readers = new SlowReaders();
afterEach(() => {
  readers.leave();
  server.close();
});

interface Kind {
  make: (listener: http.RequestListener) => http.Server;
  call: (port: number) => Socket;
}
const KINDS: Record<string, Kind> = {
  http: { make: (listener) => http.createServer(listener), call: (port) => connect(port, '127.0.0.1') },
  https: {
    make: (listener) => https.createServer({ key, cert }, listener),
    call: (port) => connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }),
  },
};

async function serve({ make }: Kind): Promise<void> {
  server = make((req, res) => res.end(req.url === '/large' ? LARGE : SMALL));
  limitConnections(server, 2);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

const ask = ({ call }: Kind, path: string): Socket =>
  readers.ask(call((server.address() as AddressInfo).port), path);

/** Waits until the handler has handed the whole answer to Node. */
async function untilAnswered(path: string): Promise<void> {
  const [, res] = (await once(server, 'request')) as [http.IncomingMessage, http.ServerResponse];
  expect(res.req.url).toBe(path);
  expect(res.writableEnded).toBe(true);
}

/** Reads a body until it is complete or its connection ends. */
async function readBody(client: Socket, size: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let missing = Infinity;
  for await (const chunk of client as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    if (missing === Infinity) missing = size + chunk.indexOf('\r\n\r\n') + 4;
    missing -= chunk.length;
    if (missing <= 0) break;
  }
  const all = Buffer.concat(chunks);
  return all.subarray(all.indexOf('\r\n\r\n') + 4);
}

describe.each(Object.entries(KINDS))('%s', (_, kind) => {
  test.each([
    ['idle connections are closed', () => server.closeIdleConnections()],
    ['the server is closed', () => server.close()],
  ])('a partly sent answer arrives whole when %s', async (_label, close) => {
    await serve(kind);
    const client = ask(kind, '/large');
    await untilAnswered('/large');
    close();
    expect((await readBody(client, LARGE.length)).equals(LARGE)).toBe(true);
  });

  test('a connection is idle once its answer was sent', async () => {
    await serve(kind);
    const client = ask(kind, '/small');
    await untilAnswered('/small');
    await once(client, 'readable');
    server.closeIdleConnections();
    expect(String(await readBody(client, Infinity))).toBe(SMALL);
    await until(async () => (await countConnections(server)) === 0, { what: 'the connection is closed' });
  });
});

test('a new connection above the limit closes an idle one, not one with a partly sent answer', async () => {
  const kind = KINDS['http']!;
  await serve(kind);
  const slow = ask(kind, '/large');
  await untilAnswered('/large');
  const idle = ask(kind, '/small');
  await untilAnswered('/small');
  const dropped = once(server, 'drop');
  ask(kind, '/small');
  await dropped;
  expect(String(await readBody(idle, Infinity))).toBe(SMALL);
  expect((await readBody(slow, LARGE.length)).equals(LARGE)).toBe(true);
});
