import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { MediaOut } from '@gwk/core/resources/media';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { noise, upload } from '@gwk/test/support/api/upload';

/**
 * Connections with a request under way when a stop closes the idle ones. Each test stops a replica of its
 * own.
 */
let api: TestApi;
let file: string;
beforeAll(async () => {
  api = await sharedApi();
  const client = await api.clientOf(await api.account());
  const parts = [{ name: 'file', filename: 'a.bin', content: noise(1_000) }];
  const { pathname, search } = new URL((await upload<MediaOut>(client, parts)).body.url!);
  file = pathname + search;
});

async function open(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

/** Opens an idle connection: it was answered once, so a stop closes it at the first opportunity. */
async function openIdle(port: number): Promise<Socket> {
  const socket = await open(port, 'GET /livez HTTP/1.1\r\nHost: gwk\r\n\r\n');
  await once(socket, 'data');
  return socket.resume();
}

test.each(['/readyz', '/livez', 'a download'])(
  'an answer after the stop closes its connection: %s',
  async (path) => {
    const replica = await api.addReplica();
    const target = path === 'a download' ? file : path;
    const socket = await open(replica.port, `GET ${target} HTTP/1.1\r\nHost: gwk\r\n`);
    // Once the idle connection was answered, the server has read this first half too.
    const idle = await openIdle(replica.port);
    const stopped = replica.stop();
    await once(idle, 'close');
    socket.write('\r\n');
    const [head] = (await once(socket, 'data')) as [Buffer];
    socket.resume();
    expect(head.toString('latin1').split('\r\n\r\n')[0]).toMatch(/^connection: close$/im);
    await stopped;
  },
);
