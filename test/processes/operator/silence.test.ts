import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createLogger } from '@gwk/core/log';
import type { Entries, Change } from '@gwk/operator/cluster/local/entries';
import { listen, type Listening } from '@gwk/operator/http/server';
import { watchChanges } from '@gwk/operator/http/watch';
import { realTime } from '../../support/wait.js';

/** Node's own timer of a socket. Longer than this process stands still between a connection and its request. */
const SILENCE_MS = realTime(1_000);
/** More than the machine keeps for somebody who does not read. */
const LARGE = 64 * 1024 * 1024;
const tellers: ((change: Change) => void)[] = [];
const entries = {
  all: () => [],
  listen: (tell: (change: Change) => void) => {
    tellers.push(tell);
    return () => undefined;
  },
} as unknown as Entries;

const asking = new EventEmitter();
let letGo: Promise<unknown>;
let server: Listening;
beforeAll(async () => {
  server = await listen(
    { host: '127.0.0.1', port: 0 },
    [
      (exchange) => {
        if (exchange.path === '/watch') watchChanges(exchange, entries, () => true);
        else {
          letGo = once(exchange.response, 'close');
          asking.emit('large');
          exchange.response.end(Buffer.alloc(LARGE));
        }
        return true;
      },
    ],
    createLogger('operator', 'error'),
    SILENCE_MS,
  );
});
afterAll(() => server.close());

function ask(path: string): Socket {
  const client = connect(server.port, '127.0.0.1').on('error', () => undefined);
  client.write(`GET ${path} HTTP/1.1\r\nHost: gwk\r\n\r\n`);
  return client;
}

async function asksAndReadsNothing(): Promise<Socket> {
  const asked = once(asking, 'large');
  const client = ask('/large').pause();
  const closed = once(client, 'close').then(() => Promise.reject(new Error('closed before it was heard')));
  await Promise.race([asked, closed]);
  await letGo;
  return client;
}

test('who asks and reads nothing is let go', async () => {
  const client = await asksAndReadsNothing();
  let taken = 0;
  client.on('data', (chunk: Buffer) => (taken += chunk.length)).resume();
  await once(client, 'close');
  expect(taken).toBeLessThan(LARGE);
});

test('a watch may say nothing for as long as nothing changes', async () => {
  const client = ask('/watch');
  await once(client, 'data');
  // Whoever came later and reads nothing has been let go by then.
  await asksAndReadsNothing();
  tellers[0]!({ type: 'ADDED', version: 1, resource: { kind: 'Instance' } as Change['resource'] });
  const [said] = (await once(client, 'data')) as [Buffer];
  expect(said.toString()).toContain('ADDED');
  client.destroy();
});
