import { createServer, connect, type AddressInfo, type Server } from 'node:net';
import { postgresUrl } from '@gwk/test/support/servers/servers';
import { detectPooling } from './pooler.js';

const KEY_DATA = Buffer.from([0x4b, 0, 0, 0, 12]);

/** Like PgBouncer 1.18: gives each connection a process id of its own, which is negative. */
async function startSignedPooler({ port, hostname }: URL): Promise<Server> {
  const server = createServer((client) => {
    const backend = connect(Number(port), hostname);
    client.pipe(backend);
    backend.on('data', (chunk) => {
      const at = chunk.indexOf(KEY_DATA);
      if (at >= 0) chunk.writeInt32BE(-chunk.readInt32BE(at + KEY_DATA.length), at + KEY_DATA.length);
      client.write(chunk);
    });
    for (const [one, other] of [
      [client, backend],
      [backend, client],
    ] as const)
      one.on('error', () => undefined).on('close', () => other.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

test('detects session pooling by a pooler with negative process ids', async () => {
  const url = new URL(postgresUrl());
  const pooler = await startSignedPooler(url);
  url.host = `127.0.0.1:${(pooler.address() as AddressInfo).port}`;
  await expect(detectPooling({ url: url.href })).resolves.toBe('session');
  await new Promise((resolve) => pooler.close(resolve));
});

test('detects that there is no pooler', async () => {
  await expect(detectPooling({ url: postgresUrl() })).resolves.toBe('none');
});
