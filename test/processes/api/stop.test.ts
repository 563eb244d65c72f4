import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { MediaOut } from '@gwk/core/resources/media';
import { openApi } from '../../support/api/open-api.js';
import type { TestApi } from '../../support/api/test-api.js';
import { noise, upload } from '../../support/api/upload.js';
import { realTime, until } from '../../support/wait.js';

/** Downloads in progress when an API stops. Their clients keep connections alive. */
let api: TestApi;
let file: string;
const SIZE = 20_000_000;
beforeAll(async () => {
  api = await openApi();
  const client = await api.clientOf(await api.account());
  const parts = [{ name: 'file', filename: 'a.bin', content: noise(SIZE) }];
  const { pathname, search } = new URL((await upload<MediaOut>(client, parts)).body.url!);
  file = pathname + search;
});
afterAll(() => api.stop());

async function open(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

/** A connection that received a response and stays idle. A stop closes it first. */
async function openIdle(port: number): Promise<Socket> {
  const socket = await open(port, 'GET /livez HTTP/1.1\r\nHost: gwk\r\n\r\n');
  await once(socket, 'data');
  return socket.resume();
}

interface Download {
  socket: Socket;
  response: ServerResponse;
  size: number;
}

/** Requests `size` bytes of the file and reads nothing. The server has written what it can when this resolves. */
async function download(port: number, size: number): Promise<Download> {
  const socket = await open(port, '');
  socket.pause();
  const created = 'http.server.response.created';
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  const seen = (message: unknown) => resolve((message as { response: ServerResponse }).response);
  subscribe(created, seen);
  socket.write(`GET ${file} HTTP/1.1\r\nHost: gwk\r\nRange: bytes=0-${size - 1}\r\n\r\n`);
  const response = await promise.finally(() => unsubscribe(created, seen));
  const { socket: server } = response;
  let written = 0;
  const writesNoMore = () => {
    const before = written;
    written = server!.bytesWritten;
    return response.headersSent && written > 0 && written === before;
  };
  await until(() => response.writableFinished || writesNoMore(), {
    what: 'the server writes no more',
    everyMs: 200,
  });
  return { socket, response, size };
}

/** A download whose last bytes wait until its client reads. The kernel chooses the buffer size of each connection. */
async function almostWhole(port: number): Promise<Download> {
  const find = async () => {
    const whole = await download(port, SIZE);
    const untaken = whole.response.socket!.bytesWritten;
    whole.socket.destroy();
    const part = await download(port, untaken - 1_000);
    if (!part.response.writableFinished) return part;
    part.socket.destroy();
    return undefined;
  };
  return until(find, { what: 'a download that the kernel buffers except for its end' });
}

describe('a download that started before a stop is completed, and its connection does not delay the stop', () => {
  const states = {
    'while much is left to read': (port: number) => download(port, SIZE),
    'while only the last bytes are left to read': almostWhole,
  };
  test.each(Object.entries(states))('closes idle connections %s', async (_, begin) => {
    const replica = await api.addReplica();
    const { socket, response, size } = await begin(replica.port);
    const idle = await openIdle(replica.port);
    const stopped = replica.stop();
    await once(idle, 'close');
    expect(response.writableFinished).toBe(false);
    const began = performance.now();
    const arrived = buffer(socket);
    await stopped;
    // Otherwise the stop waits for its timeout of 25 s.
    expect(performance.now() - began).toBeLessThan(realTime(20_000));
    const all = await arrived;
    expect(all.length - (all.indexOf('\r\n\r\n') + 4)).toBe(size);
  });
});
