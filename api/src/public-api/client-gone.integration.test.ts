import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { MediaOut } from '@gwk/core/resources/media';
import { Exposition } from '@gwk/test/support/exposition';
import { until } from '@gwk/test/support/wait';
import { ManualClock } from '@gwk/test/support/clock';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { noise, upload } from '@gwk/test/support/api/upload';

/** What metrics say of requests whose client did not wait for the answer, or for all of it. */
/** The API looks by it after the requests under way, and finds those whose client is gone. */
const clock = new ManualClock();
let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await openApi({ clock });
  subscribe('http.server.response.created', created);
  key = (await api.key(await api.account())).key;
});
afterAll(async () => {
  unsubscribe('http.server.response.created', created);
  await api.stop();
});

const responses: ServerResponse[] = [];
const created = (message: unknown) => void responses.push((message as { response: ServerResponse }).response);
/** The client goes; the next look of the API finds it gone. */
async function leave(call: ClientRequest): Promise<void> {
  const response = responses.findLast(({ req }) => req.url === call.path)!;
  call.destroy();
  await until(() => response.destroyed, { what: 'the server has noticed' });
  clock.advance(250);
}

interface Asked {
  method?: string;
  path: string;
  port?: number;
  token?: string;
  announced?: number;
}

function ask({ method = 'GET', path, port = api.port, token = key, announced }: Asked): ClientRequest {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    ...(announced !== undefined && { 'content-length': String(announced) }),
  };
  const call = request({ host: '127.0.0.1', port, path, method, headers, agent: false });
  call.on('error', () => undefined);
  return call;
}

/** Of the transaction that keeps a request waiting. */
const LONG = { timeout: 600_000 };
const PUBLIC = 'gwk_http_request_duration_seconds';
const INTERNAL = 'gwk_internal_call_duration_seconds';
const told = async (name: string, labels: Record<string, string>) =>
  (await Exposition.of(api.port)).value(name, labels) ?? 0;
const counted = (name: string, labels: Record<string, string>) =>
  until(async () => (await told(`${name}_count`, labels)) === 1, { what: JSON.stringify(labels) });

test('one that is gone while Postgres keeps its request waiting is counted, once, as 499', async () => {
  await api.db.$transaction(async (tx) => {
    await tx.$executeRaw`LOCK TABLE instances`;
    const call = ask({ path: '/v1/instances' });
    call.end();
    await until(async () => (await told('gwk_http_requests_in_flight', {})) === 1, { what: 'it is at work' });
    await leave(call);
    await counted(PUBLIC, { operation: 'listInstances', status: '499' });
  }, LONG);
  await until(async () => (await told('gwk_http_requests_in_flight', {})) === 0, { what: 'it has ended' });
  expect(await told(`${PUBLIC}_count`, { operation: 'listInstances' })).toBe(1);
});

test('one that is gone before it has said all is counted as 499', async () => {
  const call = ask({ method: 'POST', path: '/v1/messages', announced: 100 });
  call.write('{');
  await until(async () => (await told('gwk_http_requests_in_flight', {})) === 1, { what: 'it has come' });
  await leave(call);
  await counted(PUBLIC, { operation: 'sendMessage', status: '499' });
});

test('a caller of the internal port that is gone before its answer is counted as 499, not as answered', async () => {
  const { internalPort: port } = api.running;
  const call = ask({
    method: 'POST',
    path: '/operator/observe',
    port,
    token: api.operatorToken,
    announced: 100,
  });
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const seen = (message: unknown) => {
    if ((message as { request: IncomingMessage }).request.url === '/operator/observe') resolve();
  };
  subscribe('http.server.request.start', seen);
  call.write('{');
  await begun.finally(() => unsubscribe('http.server.request.start', seen));
  call.destroy();
  await counted(INTERNAL, { route: '/operator/observe', status: '499' });
  expect(await told(`${INTERNAL}_count`, { route: '/operator/observe' })).toBe(1);
});

test('a download is counted by its name, when it begins', async () => {
  const client = api.client(key);
  const content = noise(20_000_000);
  const { body } = await upload<MediaOut>(client, [{ name: 'file', filename: 'a.bin', content }]);
  const { pathname, search } = new URL(body.url!);
  const call = ask({ path: pathname + search });
  call.end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  response.pause();
  await counted(PUBLIC, { operation: 'downloadMedia', status: '200' });
  response.destroy();
});
