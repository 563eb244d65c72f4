import { Cursors } from '@gwk/api/http/cursor';
import { fromPublicId } from '@gwk/core/ids/ids';
import type { ProblemBody, ProblemCode } from '@gwk/core/problems/problems';
import { PROBLEMS } from '@gwk/core/problems/problems';
import type { Page } from '@gwk/core/resources/common';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { GatewayClient, type Answer, type Call } from '../support/gateway/client.js';
import { newKey, type Customer } from '../support/gateway/customer.js';
import { exchangeRaw } from '../support/hostile/raw-http.js';
import { joinGateway, openSharedStage, type SharedStage } from './shared-stage.js';
import { testPhone } from '../support/gateway/traffic.js';
import { until } from '../support/wait.js';

describe('invalid input to a real process', () => {
  let stage: SharedStage;
  let stranger: Customer;
  beforeAll(async () => {
    stage = await openSharedStage('wrong-input');
    stranger = await joinGateway(stage.gateway, 'stranger');
  });

  const call = (method: string, path: string, options: Call = {}) =>
    stage.customer.client.call(method, path, options);
  const good = () => ({
    instance_id: stage.instance.id,
    to: testPhone(1),
    type: 'text',
    text: { body: 'x' },
  });

  function expectProblem(answer: Answer<ProblemBody>, code: ProblemCode): void {
    expect({ status: answer.status, type: answer.body?.type?.split('/').at(-1) }).toEqual({
      status: PROBLEMS[code].status,
      type: code,
    });
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(answer.body).toMatchObject({
      title: PROBLEMS[code].title,
      status: PROBLEMS[code].status,
      detail: expect.any(String) as string,
      instance: expect.stringMatching(/^\/[^?]*$/) as string,
      request_id: answer.headers['x-request-id'],
    });
    for (const name of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']) {
      expect(answer.headers).toHaveProperty(name);
    }
  }

  const DEEP = '['.repeat(20_000) + ']'.repeat(20_000);
  const json = (body: string | Buffer): Call => ({ body, headers: { 'content-type': 'application/json' } });
  const bodies: { sentence: string; code: ProblemCode; make: () => Call; path?: string }[] = [
    { sentence: 'malformed JSON', code: 'validation-error', make: () => json('{"instance_id": ') },
    { sentence: 'an empty body', code: 'validation-error', make: () => json('') },
    { sentence: 'no body', code: 'validation-error', make: () => ({}) },
    { sentence: 'JSON that is not an object', code: 'validation-error', make: () => json('[1]') },
    { sentence: 'JSON null', code: 'validation-error', make: () => json('null') },
    { sentence: 'JSON nested 20,000 deep', code: 'validation-error', make: () => json(DEEP) },
    {
      sentence: 'a wrong content type',
      code: 'validation-error',
      make: () => ({ body: JSON.stringify(good()), headers: { 'content-type': 'text/plain' } }),
    },
    {
      sentence: 'a form',
      code: 'validation-error',
      make: () => ({ body: 'to=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
    },
    {
      sentence: 'a character set other than UTF-8',
      code: 'validation-error',
      make: () => ({
        body: Buffer.from(JSON.stringify(good()), 'utf16le'),
        headers: { 'content-type': 'application/json; charset=utf-16le' },
      }),
    },
    {
      sentence: 'bad UTF-8',
      code: 'validation-error',
      make: () => {
        const text = JSON.stringify({ ...good(), text: { body: 'caf#' } });
        const bytes = Buffer.from(text);
        bytes[bytes.indexOf('#')] = 0xe9;
        return json(bytes);
      },
    },
    {
      sentence: 'a NUL character',
      code: 'validation-error',
      make: () => ({ body: { ...good(), text: { body: 'a\u0000b' } } }),
    },
    {
      sentence: 'a lone surrogate',
      code: 'validation-error',
      make: () => json(JSON.stringify({ ...good(), text: { body: '#' } }).replace('#', '\\ud83d')),
    },
    {
      sentence: 'a body of 10 MB',
      code: 'file-too-large',
      make: () => ({ body: { ...good(), text: { body: 'x'.repeat(10_000_000) } } }),
    },
    {
      sentence: 'a text of 65,537 characters',
      code: 'validation-error',
      make: () => ({ body: { ...good(), text: { body: 'é'.repeat(65_537) } } }),
    },
    {
      sentence: 'an unknown field',
      code: 'validation-error',
      make: () => ({ body: { ...good(), tpye: 1 } }),
    },
    {
      sentence: '__proto__ as a field',
      code: 'validation-error',
      make: () => json(JSON.stringify(good()).replace('{', '{"__proto__":{"admin":true},')),
    },
    {
      sentence: 'a missing recipient',
      code: 'validation-error',
      make: () => ({ body: { ...good(), to: undefined } }),
    },
    {
      sentence: 'an invalid phone number',
      code: 'invalid-phone',
      make: () => ({ body: { ...good(), to: '+55 11' } }),
    },
    {
      sentence: 'a text message without text',
      code: 'invalid-message',
      make: () => ({ body: { ...good(), text: undefined } }),
    },
    {
      sentence: 'an empty Idempotency-Key',
      code: 'invalid-idempotency-key',
      make: () => ({ body: good(), headers: { 'idempotency-key': '' } }),
    },
    {
      sentence: 'an Idempotency-Key of 256 characters',
      code: 'invalid-idempotency-key',
      make: () => ({ body: good(), headers: { 'idempotency-key': 'k'.repeat(256) } }),
    },
  ];
  test.each(bodies)('answers POST /v1/messages with $sentence with $code', async ({ make, code }) => {
    expectProblem(await call('POST', '/v1/messages', make()), code);
  });

  test('names an unknown field by its path', async () => {
    const { body } = await call('POST', '/v1/instances', { body: { name: 'x', kind: 'sandbox', nmae: 'y' } });
    expect(body.errors).toEqual([expect.objectContaining({ path: 'nmae' })]);
  });

  const paths: { sentence: string; code: ProblemCode; method: string; path: () => string }[] = [
    { sentence: 'an unknown path', code: 'not-found', method: 'GET', path: () => '/v1/nothing' },
    { sentence: 'a path outside /v1', code: 'not-found', method: 'GET', path: () => '/admin' },
    {
      sentence: 'a path with bad escapes',
      code: 'not-found',
      method: 'GET',
      path: () => '/v1/messages/%E0%A4%A',
    },
    { sentence: 'a malformed id', code: 'not-found', method: 'GET', path: () => '/v1/messages/msg_1' },
    {
      sentence: 'an id of another kind',
      code: 'not-found',
      method: 'GET',
      path: () => `/v1/messages/${stage.instance.id}`,
    },
    {
      sentence: 'an id that does not exist',
      code: 'not-found',
      method: 'GET',
      path: () => `/v1/instances/ins_${'0'.repeat(32)}`,
    },
    { sentence: 'a limit of 0', code: 'validation-error', method: 'GET', path: () => '/v1/messages?limit=0' },
    {
      sentence: 'a limit of 201',
      code: 'validation-error',
      method: 'GET',
      path: () => '/v1/events?limit=201',
    },
    {
      sentence: 'a limit that is not a number',
      code: 'validation-error',
      method: 'GET',
      path: () => '/v1/instances?limit=ten',
    },
    {
      sentence: 'a limit given twice',
      code: 'validation-error',
      method: 'GET',
      path: () => '/v1/messages?limit=1&limit=2',
    },
    {
      sentence: 'a since that is not a time',
      code: 'validation-error',
      method: 'GET',
      path: () => '/v1/events?since=yesterday',
    },
    {
      sentence: 'an unknown status',
      code: 'validation-error',
      method: 'GET',
      path: () => '/v1/messages?status=lost',
    },
    {
      sentence: 'a contact event as a filter',
      code: 'validation-error',
      method: 'GET',
      path: () => '/v1/events?type=contact.opted_in',
    },
    {
      sentence: 'an instance of another account as a filter',
      code: 'not-found',
      method: 'GET',
      path: () => `/v1/messages?instance_id=ins_${'1'.repeat(32)}`,
    },
    {
      sentence: 'an invalid cursor',
      code: 'invalid-cursor',
      method: 'GET',
      path: () => '/v1/messages?cursor=abc',
    },
    {
      sentence: 'an empty cursor',
      code: 'invalid-cursor',
      method: 'GET',
      path: () => '/v1/messages?cursor=',
    },
  ];
  test.each(paths)('answers $method with $sentence with $code', async ({ method, path, code }) => {
    expectProblem(await call(method, path()), code);
  });

  test.each([
    ['DELETE', '/v1/instances', /GET.*POST|POST.*GET/],
    ['PUT', '/v1/messages', /GET.*POST|POST.*GET/],
    ['POST', '/v1/events', /GET/],
  ])('answers %s %s with method-not-allowed and Allow', async (method, path, allowed) => {
    const answer = await call(method, path);
    expectProblem(answer, 'method-not-allowed');
    expect(answer.headers.allow).toMatch(allowed);
  });

  test('rejects a cursor of another account, list or filter with invalid-cursor', async () => {
    const { client } = stage.customer;
    for (const index of [1, 2, 3]) await client.acceptedText(stage.instance.id, testPhone(index), 'listed');
    const page = await client.expect<Page<unknown>>(200, 'GET', '/v1/messages?limit=1');
    const cursor = encodeURIComponent(page.next_cursor!);
    const foreign = await stranger.client.call<ProblemBody>('GET', `/v1/messages?limit=1&cursor=${cursor}`);
    expectProblem(foreign, 'invalid-cursor');
    expectProblem(await call('GET', `/v1/events?limit=1&cursor=${cursor}`), 'invalid-cursor');
    expectProblem(await call('GET', `/v1/messages?limit=1&status=failed&cursor=${cursor}`), 'invalid-cursor');
    expect((await call('GET', `/v1/messages?limit=1&cursor=${cursor}`)).status).toBe(200);
  });

  test('rejects an expired cursor with invalid-cursor', async () => {
    const sealer = new Sealer(parseEncryptionKeys(stage.gateway.settings.encryptionKeys));
    const dayAgo = new Cursors(sealer, () => Date.now() - 25 * 3_600_000);
    const accountId = fromPublicId('account', stage.customer.account.id)!;
    const { id } = await stage.customer.client.acceptedText(stage.instance.id, testPhone(1), 'listed');
    const list = { accountId, route: 'GET /v1/messages', filters: {} };
    const lastId = fromPublicId('message', id)!;
    const path = (cursors: Cursors) => `/v1/messages?cursor=${cursors.issue(list, lastId)}`;
    expect((await call('GET', path(new Cursors(sealer)))).status).toBe(200);
    expectProblem(await call('GET', path(dayAgo)), 'invalid-cursor');
  });

  test('answers a missing, malformed or unknown key with unauthorized', async () => {
    for (const headers of [
      { authorization: '' },
      { authorization: 'Basic abc' },
      { authorization: 'Bearer' },
      { authorization: `Bearer gwk_live_${'x'.repeat(43)}` },
      { authorization: `Bearer ${'y'.repeat(5000)}` },
    ]) {
      expectProblem(await call('GET', '/v1/instances', { headers }), 'unauthorized');
    }
  });

  test('answers a revoked key with unauthorized', async () => {
    const key = await newKey(stage.gateway, stage.customer.account.name, 'instances:read');
    const client = new GatewayClient(stage.gateway.urls[0]!, key.api_key);
    expect((await client.call('GET', '/v1/instances')).status).toBe(200);
    await stage.gateway.gwk('key', 'revoke', key.id);
    const answer = await until(
      async () => {
        const found = await client.call<ProblemBody>('GET', '/v1/instances');
        return found.status !== 200 && found;
      },
      { what: 'the key is refused' },
    );
    expectProblem(answer, 'unauthorized');
  });

  test('answers a key without the scope with insufficient-scope and the scope', async () => {
    const key = await newKey(stage.gateway, stage.customer.account.name, 'instances:read');
    const client = new GatewayClient(stage.gateway.urls[0]!, key.api_key);
    const answer = await client.call<ProblemBody>('POST', '/v1/messages', { body: good() });
    expectProblem(answer, 'insufficient-scope');
    expect(answer.body.required_scope).toBe('messages:send');
  });

  test('keeps a valid X-Request-ID, and replaces an invalid one', async () => {
    const kept = await call('GET', '/v1/nothing', { headers: { 'x-request-id': 'mine-1' } });
    expect([kept.headers['x-request-id'], kept.body.request_id]).toEqual(['mine-1', 'mine-1']);
    const replaced = await call('GET', '/v1/nothing', { headers: { 'x-request-id': 'x'.repeat(129) } });
    expectProblem(replaced, 'not-found');
    expect(replaced.headers['x-request-id']).not.toContain('xxx');
  });

  const HOST = 'Host: gwk\r\n';
  const raws: { sentence: string; code: ProblemCode; bytes: () => string }[] = [
    {
      sentence: 'bytes that are not HTTP',
      code: 'validation-error',
      bytes: () => '\u0016\u0003\u0001nothing\r\n\r\n',
    },
    {
      sentence: 'a header of 100 kB',
      code: 'file-too-large',
      bytes: () => `GET /v1/messages HTTP/1.1\r\n${HOST}X-Big: ${'a'.repeat(100_000)}\r\n\r\n`,
    },
    {
      sentence: 'Content-Length and Transfer-Encoding',
      code: 'validation-error',
      bytes: () =>
        `POST /v1/messages HTTP/1.1\r\n${HOST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    },
    {
      sentence: 'a negative length',
      code: 'validation-error',
      bytes: () => `POST /v1/messages HTTP/1.1\r\n${HOST}Content-Length: -1\r\n\r\n`,
    },
    {
      sentence: 'an announced body of 10 MB that never arrives',
      code: 'file-too-large',
      bytes: () =>
        `POST /v1/messages HTTP/1.1\r\n${HOST}Connection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer ${stage.customer.key.api_key}\r\nContent-Length: 10000000\r\n\r\n{`,
    },
  ];
  test.each(raws)('answers $sentence with $code', async ({ bytes, code }) => {
    const answer = await exchangeRaw(stage.gateway.urls[0]!, bytes(), 120_000);
    expect(answer.split(' ', 2).join(' ')).toBe(`HTTP/1.1 ${PROBLEMS[code].status}`);
    expect(answer).toContain(`/problems/${code}"`);
  });

  test('keeps the same processes running, and sends a message after all of it', async () => {
    const { client } = stage.customer;
    const { id } = await client.acceptedText(stage.instance.id, testPhone(1), 'still here');
    await until(() => client.hasLeft(id), { what: 'the message leaves' });
    expect(stage.gateway.ended()).toEqual([]);
  });
});
