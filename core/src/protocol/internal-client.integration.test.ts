import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { OperatorClient, InternalApiRefusal, InternalApiUnreachable } from './internal-client.js';

let server: Server;
let client: OperatorClient;
let answer: { status: number; body: string };

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    response.writeHead(answer.status).end(answer.body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = new OperatorClient({ baseUrl, token: 'a-token', timeoutMs: 120_000 });
});

afterAll(() => {
  client.close();
  server.close();
});

const failure = async (status: number, body: string): Promise<unknown> => {
  answer = { status, body };
  return client.call('observe', {} as never).catch((error: unknown) => error);
};

test('throws InternalApiRefusal for a code of the internal API', async () => {
  const refused = await failure(409, '{"error":"lease-held","retry_after_ms":300}');
  expect(refused).toBeInstanceOf(InternalApiRefusal);
  expect(refused).toMatchObject({ refusal: 'lease-held', retryAfterMs: 300 });
});

test('keeps when an overloaded API wants the next attempt', async () => {
  const overloaded = await failure(503, '{"error":"unavailable","retry_after_ms":5000}');
  expect(overloaded).toBeInstanceOf(InternalApiUnreachable);
  expect(overloaded).toMatchObject({ retryAfterMs: 5_000 });
  expect(await failure(503, '{"error":"unavailable"}')).toMatchObject({ retryAfterMs: null });
});

test.each([
  ['of a proxy with its own codes', 404, '{"error":"not_found"}'],
  ['with the name of an Object property', 404, '{"error":"constructor"}'],
  ['with a code that is not text', 422, '{"error":{"code":"invalid"}}'],
  ['without a code', 429, '{}'],
  ['that is not JSON', 403, '<html>'],
  ['of null', 401, 'null'],
  ['of an overloaded API', 503, '{"error":"unavailable"}'],
])('throws InternalApiUnreachable for a response %s', async (_, status, body) => {
  expect(await failure(status, body)).toBeInstanceOf(InternalApiUnreachable);
});

test('closes an idle connection before the API closes it', async () => {
  const closing = createServer({ keepAliveTimeout: 2_000 }, (request, response) => {
    request.resume();
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(closing, 'listening');
  const baseUrl = `http://127.0.0.1:${(closing.address() as AddressInfo).port}`;
  const idle = new OperatorClient({ baseUrl, token: 'a-token', timeoutMs: 120_000 });
  try {
    const [[socket]] = await Promise.all([
      once(closing, 'connection') as Promise<[Socket]>,
      idle.call('observe', {} as never),
    ]);
    const end = Promise.race([
      once(socket, 'end').then(() => 'client'),
      once(socket, 'close').then(() => 'API'),
    ]);
    expect(await end).toBe('client');
  } finally {
    idle.close();
    closing.close();
  }
});
