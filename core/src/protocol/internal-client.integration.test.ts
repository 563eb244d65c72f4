import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EngineClient, InternalApiRefusal, InternalApiUnreachable } from './internal-client.js';

let server: Server;
let client: EngineClient;
let answer: { status: number; body: string };

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    response.writeHead(answer.status).end(answer.body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = new EngineClient({ baseUrl, token: 'a-token', timeoutMs: 120_000 });
});

afterAll(() => {
  client.close();
  server.close();
});

const failure = async (status: number, body: string): Promise<unknown> => {
  answer = { status, body };
  return client.call('acquire', { pod: 'a', version: 'b' }).catch((error: unknown) => error);
};

test('a refusal of the port is told as that', async () => {
  const refused = await failure(409, '{"error":"lease-held","retry_after_ms":300}');
  expect(refused).toBeInstanceOf(InternalApiRefusal);
  expect(refused).toMatchObject({ refusal: 'lease-held', retryAfterMs: 300 });
});

test.each([
  ['of something between, which knows no such codes', 404, '{"error":"not_found"}'],
  ['with the name of what every object has', 404, '{"error":"constructor"}'],
  ['that is no text', 422, '{"error":{"code":"invalid"}}'],
  ['without a code', 429, '{}'],
  ['that is no JSON', 403, '<html>'],
  ['of nothing', 401, 'null'],
  ['of a port that is overloaded', 503, '{"error":"unavailable"}'],
])('an answer %s says nothing of the call', async (_, status, body) => {
  expect(await failure(status, body)).toBeInstanceOf(InternalApiUnreachable);
});
