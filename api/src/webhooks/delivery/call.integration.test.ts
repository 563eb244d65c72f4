import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Agent } from 'undici';
import { Call, WorkerStopping, type StartTimeout } from './call.js';
import type { Prepared } from './types.js';

/** A time-out that is over when the test says so. */
function timeout() {
  let over = (): void => undefined;
  let ms: number | undefined;
  let cleared = 0;
  const start: StartTimeout = (end, after) => {
    [over, ms] = [end, after];
    return () => cleared++;
  };
  return { start, over: () => over(), ms: () => ms, cleared: () => cleared };
}

describe('a call that has no connection yet', () => {
  let silent: Server;
  const taken: Socket[] = [];
  let dispatcher: Agent;
  let prepared: Prepared;
  beforeEach(async () => {
    // Takes connections and says nothing, so that no TLS comes about.
    silent = createServer((socket) => taken.push(socket.on('error', () => undefined))).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    dispatcher = new Agent({ connect: { timeout: 0 } });
    const url = new URL(`https://127.0.0.1:${(silent.address() as AddressInfo).port}/`);
    prepared = { claimed: {} as Prepared['claimed'], url, headers: {}, body: '{}' };
  });
  afterEach(async () => {
    for (const socket of taken) socket.destroy();
    await dispatcher.destroy();
    silent.close();
  });

  test('ends with its own time-out, and not with that of the connection', async () => {
    const { start, over, ms } = timeout();
    const { called } = new Call(prepared, dispatcher, 300, start);
    expect(ms()).toBe(300);
    over();
    const { statusCode, error, latencyMs } = await called;
    expect({ statusCode, error }).toEqual({ statusCode: null, error: 'no complete answer within 0.3 s' });
    expect(latencyMs).toBeGreaterThanOrEqual(0);
  });

  test('ends when the worker stops, and what comes after changes nothing', async () => {
    const { start, over } = timeout();
    const call = new Call(prepared, dispatcher, 10_000, start);
    const stopped = expect(call.called).rejects.toBeInstanceOf(WorkerStopping);
    call.breakOff(new WorkerStopping());
    over();
    await dispatcher.destroy();
    await stopped;
  });
});

test.each<[string, (response: ServerResponse) => void]>([
  ['nothing', () => undefined],
  ['headers that trickle', ({ socket }) => void socket!.write('HTTP/1.1 200 OK\r\nx: ')],
  ['a body that trickles', (response) => void response.writeHead(200).write('x')],
])('a call that is answered with %s ends with its time-out', async (_, answer) => {
  const server = createHttpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const dispatcher = new Agent();
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}/`);
  const prepared = { claimed: {} as Prepared['claimed'], url, headers: {}, body: '{}' };
  const { start, over, cleared } = timeout();
  const { called } = new Call(prepared, dispatcher, 400, start);
  const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  const closed = once(response, 'close');
  answer(response);
  over();
  const error = 'no complete answer within 0.4 s';
  expect(await called).toMatchObject({ statusCode: null, error, response: null });
  await closed;
  expect(cleared()).toBe(1);
  await dispatcher.destroy();
  server.close();
});

describe('of an answer is kept', () => {
  const answered = async (chunks: Buffer[]): Promise<Buffer | null> => {
    const server = createHttpServer((_, response) => {
      for (const chunk of chunks) response.write(chunk);
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const dispatcher = new Agent();
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const prepared = { claimed: {} as Prepared['claimed'], url, headers: {}, body: '{}' };
    const { response } = await new Call(prepared, dispatcher, 10_000).called;
    await dispatcher.destroy();
    server.closeAllConnections();
    server.close();
    return response;
  };
  const bytes = (length: number) => Buffer.from(Array.from({ length }, (_, index) => index % 251));
  const cut = (whole: Buffer, size: number) =>
    Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
      whole.subarray(index * size, (index + 1) * size),
    );

  test.each([
    ['nothing, where it is empty', [], bytes(0)],
    ['all of it, where it comes as one', [bytes(300)], bytes(300)],
    ['all of it, a byte at a time', cut(bytes(3_000), 1), bytes(3_000)],
    ['all of it, at its greatest length', cut(bytes(20_000), 7_000), bytes(20_000)],
    ['the first 20,000 bytes of more', cut(bytes(21_000), 7_000), bytes(20_000)],
    ['the first 20,000 bytes of one that is longer', [bytes(50_000)], bytes(20_000)],
  ])('%s', async (_, chunks, kept) => {
    expect(await answered(chunks)).toEqual(kept);
  });
});
