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

/** Downloads under way when an API stops, whose clients keep their connections alive. */
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

/** One that has been answered and says nothing more, so that a stop closes it as soon as it closes any. */
async function openSilent(port: number): Promise<Socket> {
  const socket = await open(port, 'GET /livez HTTP/1.1\r\nHost: gwk\r\n\r\n');
  await once(socket, 'data');
  return socket.resume();
}

interface Download {
  socket: Socket;
  response: ServerResponse;
  size: number;
}

/** Asks for so much of the file and takes nothing of it. The server has written what it can when this resolves. */
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
    what: 'what can be written',
    everyMs: 200,
  });
  return { socket, response, size };
}

/**
 * An answer that has been written whole, and stands in this process's memory until its client takes what the kernel
 * keeps. How much that is the kernel decides for each connection.
 */
async function writtenWhole(port: number): Promise<Download> {
  const find = async () => {
    const whole = await download(port, SIZE);
    const untaken = whole.response.socket!.bytesWritten;
    whole.socket.destroy();
    const part = await download(port, untaken - 1_000);
    if (part.response.writableEnded && !part.response.writableFinished) return part;
    part.socket.destroy();
    return undefined;
  };
  return until(find, { what: 'an answer of which the kernel keeps all but its end' });
}

describe('a download that began before a stop ends whole, and its connection holds nobody up', () => {
  const states = {
    'when there is much to read yet': (port: number) => download(port, SIZE),
    'when nothing but the client is waited for': writtenWhole,
  };
  test.each(Object.entries(states))('silent connections are closed %s', async (_, begin) => {
    const replica = await api.addReplica();
    const { socket, response, size } = await begin(replica.port);
    const silent = await openSilent(replica.port);
    const stopped = replica.stop();
    await once(silent, 'close');
    expect(response.writableFinished).toBe(false);
    const began = performance.now();
    const arrived = buffer(socket);
    await stopped;
    // Else it is held up until the end of its time, for 25 s.
    expect(performance.now() - began).toBeLessThan(realTime(20_000));
    const all = await arrived;
    expect(all.length - (all.indexOf('\r\n\r\n') + 4)).toBe(size);
  });
});
