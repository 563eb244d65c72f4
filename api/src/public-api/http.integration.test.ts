import { connect } from 'node:net';
import { PROBLEMS, type ProblemBody, type ProblemCode } from '@gwk/core/problems/problems';
import { pickPort } from '@gwk/test/support/ports';
import { ManualClock } from '@gwk/test/support/clock';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient, Answer } from '@gwk/test/support/api/client';

/** The clock of the key cache. */
const clock = new ManualClock();
let api: TestApi;
let account: TestAccount;
let client: ApiClient;

beforeAll(async () => {
  api = await openApi({ clock, settings: { GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '100000' } });
  account = await api.account();
  client = await api.clientOf(account);
});
afterAll(() => api.stop());

function expectProblem(answer: Answer<ProblemBody>, code: ProblemCode, instance?: string): void {
  expect({ status: answer.status, type: answer.body?.type }).toEqual({
    status: PROBLEMS[code].status,
    type: `https://docs.example.org/problems/${code}`,
  });
  expect(answer.headers['content-type']).toBe('application/problem+json');
  expect(answer.body).toMatchObject({
    title: PROBLEMS[code].title,
    status: PROBLEMS[code].status,
    detail: expect.any(String) as string,
    request_id: answer.headers['x-request-id'],
    ...(instance !== undefined && { instance }),
  });
  expectRate(answer);
}

function expectRate({ headers }: Answer<unknown>): void {
  expect(Number(headers['ratelimit-limit'])).toBeGreaterThan(0);
  expect(Number(headers['ratelimit-remaining'])).toBeGreaterThanOrEqual(0);
  expect(Number(headers['ratelimit-reset'])).toBeGreaterThanOrEqual(0);
  expect(Number(headers['ratelimit-reset'])).toBeLessThanOrEqual(60);
}

describe('paths', () => {
  test.each([
    '/',
    '/v1',
    '/v1/',
    '/v1/nothing',
    '/v1/messages/',
    '/V1/messages',
    '/v1/Messages',
    '//v1/messages',
    '/v1/messages/%',
    '/v1/messages/%ff',
    '/v1/messages/msg_1%00',
    '/v1/messages/..%2finstances',
    '/v1/instances/__proto__',
    '/livez/x',
  ])('%s is unknown, with and without a key', async (path) => {
    const known = path.startsWith('/v1/messages/%') || /(msg_1|\.\.|__proto__)/.test(path);
    expectProblem(await client.call('GET', path), 'not-found', path);
    expectProblem(
      await api.client(null).call('GET', path),
      known && !/%(ff)?$/.test(path) ? 'unauthorized' : 'not-found',
      path,
    );
  });

  test('HEAD is GET without a body', async () => {
    const answer = await client.call('HEAD', '/v1/instances');
    expect([answer.status, answer.body]).toEqual([200, undefined]);
  });
});

describe('Accept-Language', () => {
  test.each([
    ['missing', {}, 'pt'],
    ['*', { 'accept-language': '*' }, 'pt'],
    ['another language', { 'accept-language': 'de, fr;q=0.5' }, 'pt'],
    ['Portuguese of Brazil', { 'accept-language': 'pt-BR,en;q=0.9' }, 'pt'],
    ['English', { 'accept-language': 'en-US,en;q=0.9,pt;q=0.8' }, 'en'],
    ['English after another language', { 'accept-language': 'de, en;q=0.7' }, 'en'],
    ['English refused', { 'accept-language': 'en;q=0' }, 'pt'],
    ['malformed', { 'accept-language': ';;,=' }, 'pt'],
  ])('%s decides the language of `detail`', async (_, headers, language) => {
    const answer = await client.call<ProblemBody>('GET', '/v1/nothing', { headers });
    expectProblem(answer, 'not-found');
    expect(answer.body.detail).toBe(
      { pt: 'O recurso não existe.', en: 'The resource does not exist.' }[language],
    );
    expect(answer.headers).toMatchObject({ 'content-language': language, vary: 'Accept-Language' });
  });
});

describe('keys', () => {
  test.each([
    ['no header', {}],
    ['an empty header', { authorization: '' }],
    ['another scheme', { authorization: 'Basic abc' }],
    ['no key', { authorization: 'Bearer' }],
    ['a key of another form', { authorization: 'Bearer sk_test_1' }],
    ['an unknown key', { authorization: `Bearer gwk_live_${'x'.repeat(43)}` }],
    ['a very long key', { authorization: `Bearer gwk_live_${'x'.repeat(9000)}` }],
  ])('%s: unauthorized', async (_, headers) => {
    expectProblem(await api.client(null).call('GET', '/v1/instances', { headers }), 'unauthorized');
  });

  test('revocation and suspension take effect on every replica within 2 s', async () => {
    const replica = await api.addReplica();
    const own = await api.account();
    const { id, key } = await api.key(own);
    const clients = [api.client(key), api.client(key, replica.port)];
    const send = (who: ApiClient) =>
      who.call('POST', '/v1/messages', {
        body: {
          instance_id: `ins_${'0'.repeat(32)}`,
          to: '5511987654321',
          type: 'text',
          text: { body: 'x' },
        },
      });
    for (const who of clients) expectProblem(await send(who), 'not-found');

    await api.db.account.update({ where: { id: own.id }, data: { suspendedAt: new Date() } });
    clock.advance(1_950);
    for (const who of clients) expectProblem(await send(who), 'account-suspended');
    for (const who of clients) expect((await who.call('GET', '/v1/messages')).status).toBe(200);

    await api.db.apiKey.update({ where: { id }, data: { revokedAt: new Date() } });
    // The key stays in use: its cache entry is renewed in the background, and never kept for longer.
    for (let i = 0; i < 19; i++) {
      clock.advance(100);
      await clients[0]!.call('GET', '/v1/messages');
    }
    for (const who of clients) expectProblem(await send(who), 'unauthorized');
  });
});

describe('request ids', () => {
  test.each(['a', 'mine-1', 'with space ~', 'x'.repeat(128)])('keeps %s', async (id) => {
    const answer = await client.call('GET', '/v1/nothing', { headers: { 'x-request-id': id } });
    expect([answer.headers['x-request-id'], answer.body.request_id]).toEqual([id.trim(), id.trim()]);
  });

  test.each(['', 'x'.repeat(129), 'é', 'a\tb'])('replaces "%s"', async (id) => {
    const { headers } = await client.call('GET', '/v1/instances', { headers: { 'x-request-id': id } });
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('bodies', () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    client.call('POST', '/v1/instances', { body, headers });

  test.each([
    ['a wrong content type', '{"name":"x"}', { 'content-type': 'text/plain' }],
    ['no content type', '{"name":"x"}', { 'content-type': '' }],
    ['another character set', '{"name":"x"}', { 'content-type': 'application/json; charset=latin1' }],
    ['a compressed body', '{"name":"x"}', { 'content-encoding': 'gzip' }],
    ['an empty body', '', {}],
    ['an array', '[]', {}],
    ['null', 'null', {}],
    ['__proto__ as a field', '{"name":"x","__proto__":{"a":1}}', {}],
    ['a NUL', '{"name":"a\\u0000b"}', {}],
    ['half a surrogate pair', '{"name":"\\ud83d"}', {}],
    ['a name of 81 characters', JSON.stringify({ name: '😀'.repeat(81) }), {}],
    ['a string for a number', '{"name":1}', {}],
  ])('%s: validation-error', async (_, body, headers) => {
    expectProblem(await post(body, headers), 'validation-error');
  });

  test('a name is limited in characters, not code units', async () => {
    expect((await post(JSON.stringify({ name: '😀'.repeat(80), kind: 'sandbox' }))).status).toBe(201);
  });

  test('10 MB with its length: file-too-large, and the next request on a new connection succeeds', async () => {
    const answer = await post(JSON.stringify({ name: 'x'.repeat(10_000_000) }));
    expectProblem(answer, 'file-too-large');
    expect(answer.headers.connection).toBe('close');
    expect((await client.call('GET', '/v1/instances')).status).toBe(200);
  });

  test('an endless chunked body: file-too-large, and the connection is closed', async () => {
    const { key } = await api.key(account);
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: api.port });
      let received = '';
      const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
      const more = (): void => void (socket.destroyed || socket.write(chunk, () => setImmediate(more)));
      socket.on('data', (bytes) => (received += bytes.toString()));
      socket.once('data', passDropTime);
      socket.on('close', () => resolve(received));
      // Writing to a closed connection resets it.
      socket.on('error', () => (received === '' ? reject(new Error('no answer')) : resolve(received)));
      socket.write(
        `POST /v1/instances HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
          'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
      );
      more();
    });
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text).toContain('/problems/file-too-large"');
  });

  test('a large body is refused by its length alone, and its connection is closed', async () => {
    const { key } = await api.key(account);
    const raw = await exchangeRaw(
      `POST /v1/instances HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 5000000\r\n\r\n{',
      passDropTime,
    );
    expect(raw).toMatch(/^HTTP\/1\.1 413 /);
  });

  test.each([
    ['without a Host', ''],
    ['with an unknown expectation', 'Host: x\r\nExpect: miracles\r\n'],
  ])('answers a request %s like any other', async (_, headers) => {
    const raw = await exchangeRaw(`GET /v1/messages HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`);
    expect(raw).toMatch(/^HTTP\/1\.1 401 [^]*X-Request-ID: [^]*\/problems\/unauthorized"/);
  });

  test('keeps the connection when it refuses a small request before reading the body', async () => {
    const answer = await api.client(null).call('POST', '/v1/instances', { body: '{"name":"x"}' });
    expectProblem(answer, 'unauthorized');
    expect(answer.headers.connection).toBe('keep-alive');
  });
});

/** Passes the time for which the server drops the rest of a request after its answer. */
const passDropTime = (): void => clock.advance(2_000);

function exchangeRaw(bytes: string, onAnswer: () => void = () => undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: api.port });
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.once('data', onAnswer);
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
    socket.write(bytes);
  });
}

describe('malformed requests', () => {
  test.each([
    ['bytes that are not HTTP', '\u0016\u0003\u0001nothing\r\n\r\n', 422, 'validation-error'],
    [
      'endless headers',
      `GET / HTTP/1.1\r\nHost: x\r\nX-Big: ${'a'.repeat(20_000)}\r\n\r\n`,
      413,
      'file-too-large',
    ],
    [
      'a negative length',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
      422,
      'validation-error',
    ],
    [
      'two body framings',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      422,
      'validation-error',
    ],
  ])('answers %s with a problem and closes the connection', async (_, bytes, status, code) => {
    const text = await exchangeRaw(bytes);
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(text).toContain('Content-Type: application/problem+json');
    expect(text).toContain(`/problems/${code}"`);
    expect(text).toMatch(/RateLimit-Remaining: \d+/);
    expect(text).toMatch(/X-Request-ID: \S+/);
  });
});

describe('the rate limit', () => {
  test('counts down, refuses with Retry-After, and is separate for each key', async () => {
    const own = await api.account({ requestsPerMinute: 3 });
    const limited = await api.clientOf(own);
    const answers: Answer<unknown>[] = [];
    for (let i = 0; i < 5; i++)
      answers.push(await limited.call('GET', i === 1 ? '/v1/nothing' : '/v1/instances'));
    const numbers = (name: string) => answers.map(({ headers }) => Number(headers[name]));
    const reset = numbers('ratelimit-reset');
    // It rises when a new minute begins in between.
    if (reset.every((seconds, i) => i === 0 || seconds <= reset[i - 1]!)) {
      expect(numbers('ratelimit-remaining')).toEqual([2, 1, 0, 0, 0]);
      expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 429, 429]);
      expectProblem(answers[4] as Answer<ProblemBody>, 'rate-limited');
      expect(answers[4]!.headers['retry-after']).toBe(answers[4]!.headers['ratelimit-reset']);
    }
    expect(answers[0]!.headers['ratelimit-limit']).toBe('3');
    expect((await (await api.clientOf(own)).call('GET', '/v1/instances')).status).toBe(200);
  });
});

describe('health', () => {
  test('needs no key and has no rate limit', async () => {
    const anonymous = api.client(null);
    const live = await anonymous.call('GET', '/livez');
    expect([live.status, live.headers['ratelimit-limit']]).toEqual([200, undefined]);
    const ready = await anonymous.call<unknown>('GET', '/readyz');
    expect(ready.body).toEqual({
      status: 'ok',
      checks: { postgres: 'ok', media: 'ok', redis: 'ok', process: 'ok' },
    });
    const metrics = await fetch(`http://127.0.0.1:${api.port}/metrics`);
    const text = await metrics.text();
    expect(text).toContain(
      'gwk_http_request_duration_seconds_bucket{le="0.005",operation="listInstances",status="200"}',
    );
    expect(text).toContain('process_cpu_seconds_total');
  });

  test('serves metrics on a separate port if one is set, otherwise on the public one', async () => {
    const metricsPort = await pickPort();
    const { port } = await api.addReplica({ GWK_API_METRICS_PORT: String(metricsPort) });
    const status = async (at: number, path: string) => (await fetch(`http://127.0.0.1:${at}${path}`)).status;
    expect([await status(port, '/metrics'), await status(port, '/readyz')]).toEqual([404, 200]);
    expect([await status(metricsPort, '/metrics'), await status(metricsPort, '/readyz')]).toEqual([200, 200]);
    expect(await status(metricsPort, '/v1/instances')).toBe(404);
  });
});
