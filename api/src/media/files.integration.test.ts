import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { MediaFiles } from './files.js';

const server = createServer();
afterAll(() => server.close());

test('a request whose file the store refuses unread can still be answered', async () => {
  const files = new MediaFiles({
    db: { $executeRaw: () => turn(1) } as never,
    sealer: {} as never,
    store: { write: () => Promise.reject(new Error('disk full')) } as never,
    limits: {} as never,
    maxBytes: 1_000_000,
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    files
      .receive(request, 1_000_000, { filename: null, declared: null })
      .catch((error: Error) => response.writeHead(503, { connection: 'close' }).end(error.message));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const response = await fetch(url, { method: 'POST', body: Buffer.alloc(100_000) });
  expect([response.status, await response.text()]).toEqual([503, 'disk full']);
});
