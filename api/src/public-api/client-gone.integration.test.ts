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

/** Metrics of requests whose client disconnected before the end of the answer. */
/** The API checks by this clock for requests whose client has disconnected. */
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
/** Disconnects the client, and lets the next check of the API detect it. */
async function disconnect(call: ClientRequest): Promise<void> {
  const response = responses.findLast(({ req }) => req.url === call.path)!;
  call.destroy();
  await until(() => response.destroyed, { what: 'the server sees the end of the connection' });
  clock.advance(250);
}

interface RequestOptions {
  method?: string;
  path: string;
  port?: number;
  token?: string;
  contentLength?: number;
}

function openRequest({
  method = 'GET',
  path,
  port = api.port,
  token = key,
  contentLength,
}: RequestOptions): ClientRequest {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    ...(contentLength !== undefined && { 'content-length': String(contentLength) }),
  };
  const call = request({ host: '127.0.0.1', port, path, method, headers, agent: false });
  call.on('error', () => undefined);
  return call;
}

/** Timeout of the transaction that blocks a request. */
const LONG = { timeout: 600_000 };
const PUBLIC = 'gwk_http_request_duration_seconds';
const INTERNAL = 'gwk_internal_call_duration_seconds';
const readMetric = async (name: string, labels: Record<string, string>) =>
  (await Exposition.of(api.port)).value(name, labels) ?? 0;
const untilCounted = (name: string, labels: Record<string, string>) =>
  until(async () => (await readMetric(`${name}_count`, labels)) === 1, { what: JSON.stringify(labels) });

test('a client that leaves while Postgres blocks its request counts once, as 499', async () => {
  await api.db.$transaction(async (tx) => {
    await tx.$executeRaw`LOCK TABLE instances`;
    const call = openRequest({ path: '/v1/instances' });
    call.end();
    await until(async () => (await readMetric('gwk_http_requests_in_flight', {})) === 1, {
      what: 'the request is in flight',
    });
    await disconnect(call);
    await untilCounted(PUBLIC, { operation: 'listInstances', status: '499' });
  }, LONG);
  await until(async () => (await readMetric('gwk_http_requests_in_flight', {})) === 0, {
    what: 'the request has ended',
  });
  expect(await readMetric(`${PUBLIC}_count`, { operation: 'listInstances' })).toBe(1);
});

test('a client that leaves before the end of its body counts as 499', async () => {
  const call = openRequest({ method: 'POST', path: '/v1/messages', contentLength: 100 });
  call.write('{');
  await until(async () => (await readMetric('gwk_http_requests_in_flight', {})) === 1, {
    what: 'the request is in flight',
  });
  await disconnect(call);
  await untilCounted(PUBLIC, { operation: 'sendMessage', status: '499' });
});

test('a caller of the internal API that leaves before its answer counts as 499 only', async () => {
  const { internalPort: port } = api.running;
  const call = openRequest({
    method: 'POST',
    path: '/operator/observe',
    port,
    token: api.operatorToken,
    contentLength: 100,
  });
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const onStart = (message: unknown) => {
    if ((message as { request: IncomingMessage }).request.url === '/operator/observe') resolve();
  };
  subscribe('http.server.request.start', onStart);
  call.write('{');
  await begun.finally(() => unsubscribe('http.server.request.start', onStart));
  call.destroy();
  await untilCounted(INTERNAL, { route: '/operator/observe', status: '499' });
  expect(await readMetric(`${INTERNAL}_count`, { route: '/operator/observe' })).toBe(1);
});

test('a download counts by its name when it begins', async () => {
  const client = api.client(key);
  const content = noise(20_000_000);
  const { body } = await upload<MediaOut>(client, [{ name: 'file', filename: 'a.bin', content }]);
  const { pathname, search } = new URL(body.url!);
  const call = openRequest({ path: pathname + search });
  call.end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  response.pause();
  await untilCounted(PUBLIC, { operation: 'downloadMedia', status: '200' });
  response.destroy();
});
