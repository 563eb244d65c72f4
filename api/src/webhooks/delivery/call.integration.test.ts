import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Agent, type Dispatcher } from 'undici';
import type { Clock } from '@gwk/core/clock';
import { Call, WorkerStopping } from './call.js';
import type { PreparedCall } from './types.js';

/** A timer that fires when the test says so. */
function manualTimeout() {
  let fire = (): void => undefined;
  let ms: number | undefined;
  let cleared = 0;
  const after: Clock['after'] = (delay, end) => {
    [fire, ms] = [end, delay];
    return () => cleared++;
  };
  return { clock: { after }, fire: () => fire(), ms: () => ms, cleared: () => cleared };
}

describe('a call without a connection', () => {
  let unresponsive: Server;
  const taken: Socket[] = [];
  let dispatcher: Agent;
  let prepared: PreparedCall;
  beforeEach(async () => {
    // Accepts connections and sends nothing, so TLS is never established.
    unresponsive = createServer((socket) => taken.push(socket.on('error', () => undefined))).listen(
      0,
      '127.0.0.1',
    );
    await once(unresponsive, 'listening');
    dispatcher = new Agent({ connect: { timeout: 0 } });
    const url = new URL(`https://127.0.0.1:${(unresponsive.address() as AddressInfo).port}/`);
    prepared = { claimed: {} as PreparedCall['claimed'], url, headers: {}, body: '{}' };
  });
  afterEach(async () => {
    for (const socket of taken) socket.destroy();
    await dispatcher.destroy();
    unresponsive.close();
  });

  test('ends with its own timeout, not with that of the connection', async () => {
    const { clock, fire, ms } = manualTimeout();
    const { outcome } = new Call(prepared, dispatcher, 300, clock);
    expect(ms()).toBe(300);
    fire();
    const { statusCode, error, latencyMs } = await outcome;
    expect({ statusCode, error }).toEqual({ statusCode: null, error: 'no answer within 0.3 s' });
    expect(latencyMs).toBeGreaterThanOrEqual(0);
  });

  test('ends when the worker stops; a later timeout changes nothing', async () => {
    const { clock, fire } = manualTimeout();
    const call = new Call(prepared, dispatcher, 10_000, clock);
    const stopped = expect(call.outcome).rejects.toBeInstanceOf(WorkerStopping);
    call.abort(new WorkerStopping());
    fire();
    await dispatcher.destroy();
    await stopped;
  });
});

test.each<[string, (response: ServerResponse) => void]>([
  ['nothing', () => undefined],
  ['slow headers', ({ socket }) => void socket!.write('HTTP/1.1 200 OK\r\nx: ')],
  ['early hints alone', (response) => response.writeEarlyHints({ link: '</a>; rel=preload' })],
])('a call answered with %s ends with its timeout', async (_, answer) => {
  const server = createHttpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const dispatcher = new Agent();
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}/`);
  const prepared = { claimed: {} as PreparedCall['claimed'], url, headers: {}, body: '{}' };
  const { clock, fire, cleared } = manualTimeout();
  const { outcome } = new Call(prepared, dispatcher, 400, clock);
  const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  const closed = once(response, 'close');
  answer(response);
  fire();
  const error = 'no answer within 0.4 s';
  expect(await outcome).toMatchObject({ statusCode: null, error, response: null });
  await closed;
  expect(cleared()).toBe(1);
  await dispatcher.destroy();
  server.close();
});

describe('an answer counts once its headers have arrived', () => {
  /** `end` is called when the part of the body that was sent has arrived. */
  const answer = async (raw: string, end: (call: Call, socket: Socket) => void) => {
    const { promise: connected, resolve } = Promise.withResolvers<Socket>();
    const server = createServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.write(raw));
      resolve(socket);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const dispatcher = new Agent();
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const arrived = Promise.withResolvers<void>();
    class Watched extends Call {
      override onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
        super.onResponseData(controller, chunk);
        arrived.resolve();
      }
    }
    const prepared = { claimed: {} as PreparedCall['claimed'], url, headers: {}, body: '{}' };
    const call = new Watched(prepared, dispatcher, 10_000);
    await arrived.promise;
    end(call, await connected);
    const { statusCode, error, response } = await call.outcome;
    await dispatcher.destroy();
    server.close();
    return { statusCode, error, response: String(response) };
  };
  const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx';
  const timeout = (call: Call): void => call.abort(new Error('no answer within 10 s'));
  const close = (_: Call, socket: Socket): void => void socket.destroy();

  test.each<[string, string, (call: Call, socket: Socket) => void, number]>([
    ['a body that never ends', ok, timeout, 200],
    ['a truncated body', ok, close, 200],
    [
      'a body that is not chunked as announced',
      'HTTP/1.1 201 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\nzz\r\n',
      close,
      201,
    ],
    ['a body while the worker stops', ok, (call) => call.abort(new WorkerStopping()), 200],
    ['a body after early hints', `HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n${ok}`, close, 200],
  ])('%s', async (_, raw, end, statusCode) => {
    expect(await answer(raw, end)).toEqual({ statusCode, error: null, response: 'x' });
  });

  test('a truncated refusal', async () => {
    expect(await answer('HTTP/1.1 410 Gone\r\ncontent-length: 9\r\n\r\nx', close)).toEqual({
      statusCode: 410,
      error: 'answered 410',
      response: 'x',
    });
  });
});

describe('stored response body', () => {
  const answered = async (chunks: Buffer[]): Promise<Buffer | null> => {
    const server = createHttpServer((_, response) => {
      for (const chunk of chunks) response.write(chunk);
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const dispatcher = new Agent();
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const prepared = { claimed: {} as PreparedCall['claimed'], url, headers: {}, body: '{}' };
    const { response } = await new Call(prepared, dispatcher, 10_000).outcome;
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
    ['empty', [], bytes(0)],
    ['one chunk', [bytes(300)], bytes(300)],
    ['one-byte chunks', cut(bytes(3_000), 1), bytes(3_000)],
    ['exactly 20,000 bytes', cut(bytes(20_000), 7_000), bytes(20_000)],
    ['the first 20,000 bytes of three chunks', cut(bytes(21_000), 7_000), bytes(20_000)],
    ['the first 20,000 bytes of a larger chunk', [bytes(50_000)], bytes(20_000)],
  ])('%s', async (_, chunks, stored) => {
    expect(await answered(chunks)).toEqual(stored);
  });
});
