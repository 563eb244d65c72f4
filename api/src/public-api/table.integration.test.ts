import { createHash } from 'node:crypto';
import { PROBLEMS, type ProblemCode } from '@gwk/core/problems/problems';
import { fromPublicId } from '@gwk/core/ids/ids';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { openApi } from '@gwk/test/support/api/open-api';
import { hashBodyWithAllKeys, IdempotencyStore } from '../http/idempotency/store.js';
import { openApiDocument } from '../openapi/document.js';
import { hasCursor, heedsIdempotencyKey } from '../openapi/describe.js';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { Answer, ApiClient } from '@gwk/test/support/api/client';
import { ABSENT_IDS, buildSample, type SampleRequest } from '@gwk/test/support/api/contract/requests';
import { makeWorld, type World } from '@gwk/test/support/api/world';
import { formatAllow } from './app.js';
import { idKindOf, type Operation } from '../http/operation.js';
import { OPERATIONS } from './operations.js';

/**
 * Checks common to all operations, by walking the table: a new operation is tested here without a change.
 * Every answer is also validated against the OpenAPI document.
 */
let api: TestApi;
let world: World;
let account: TestAccount;
let client: ApiClient;

const document = openApiDocument({
  operations: OPERATIONS,
  baseUrl: 'https://example.org',
  docsUrl: 'https://docs.example.org',
});

beforeAll(async () => {
  api = await openApi({ settings: { GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '100000' } });
  account = await api.account();
  world = await makeWorld(api, account);
  client = world.client;
});
afterAll(() => api.stop());

const rows = OPERATIONS.map((operation) => ({
  operation,
  title: `${operation.method} ${operation.path}`,
}));
const only = (which: (operation: Operation) => boolean) => rows.filter(({ operation }) => which(operation));
const sample = (operation: Operation, ids = world.ids) => buildSample(operation, document, ids);

function call(
  who: ApiClient,
  request: SampleRequest,
  more: Partial<SampleRequest> = {},
): Promise<Answer<Body>> {
  const { method, path, body, headers } = { ...request, ...more };
  return who.call<Body>(method, path, { body, headers: { ...request.headers, ...headers } });
}
interface Body {
  type: string;
  instance: string;
  required_scope?: string;
  errors?: { path: string }[];
}

/** An engine that answers a list from the live connection; null for other lists. */
async function startListingEngine({ problems }: Operation) {
  if (!problems?.includes('engine-unavailable')) return null;
  const engine = await api.engine(world.ids['instance_id']!);
  engine.handlers.groups = () => ({ items: [], next: null });
  return engine;
}

function expectProblem(answer: Answer<Body>, code: ProblemCode): void {
  expect([answer.status, answer.body?.type]).toEqual([
    PROBLEMS[code].status,
    `https://docs.example.org/problems/${code}`,
  ]);
}

describe('the caller', () => {
  test.each(only(({ scope }) => scope === null))('$title needs no key', async ({ operation }) => {
    expect((await call(api.client(null), sample(operation))).status).toBe(operation.status);
  });

  test.each(rows)('$title above the requests per minute: rate-limited', async ({ operation }) => {
    const limited = await api.clientOf(await api.account({ requestsPerMinute: 1 }));
    let answer = await call(limited, sample(operation, ABSENT_IDS));
    // A new minute may begin in between.
    for (let i = 0; i < 3 && answer.status !== 429; i++)
      answer = await call(limited, sample(operation, ABSENT_IDS));
    expectProblem(answer, 'rate-limited');
  });
});

describe('the form of a request', () => {
  const listParameters = ({ query }: Operation): string[] =>
    Object.keys((query as unknown as { shape: object }).shape);
  const withJson = only(({ body, receive }) => body !== undefined && !receive);

  test.each(only(({ body }) => body !== undefined))(
    '$title with a malformed body: validation-error',
    async ({ operation }) => {
      for (const body of ['{"a":', '[]', '\ud83d', '{"a":"\\u0000"}']) {
        expectProblem(await call(client, sample(operation), { body }), 'validation-error');
      }
      const answer = await call(client, sample(operation), { headers: { 'content-type': 'text/plain' } });
      expectProblem(answer, 'validation-error');
    },
  );

  test.each(withJson)(
    '$title with an unknown field: validation-error that names it',
    async ({ operation }) => {
      const answer = await call(client, sample(operation), { body: { nonsense: 1 } });
      expectProblem(answer, 'validation-error');
      expect(answer.body.errors!.map(({ path }) => path)).toContain('nonsense');
    },
  );

  test.each(withJson)('$title with a body over 1 MB: file-too-large', async ({ operation }) => {
    const body = JSON.stringify({ nonsense: 'x'.repeat(1_000_000) });
    expectProblem(await call(client, sample(operation), { body }), 'file-too-large');
  });

  test.each(only(({ query }) => query !== undefined))(
    '$title with a parameter given twice: validation-error',
    async ({ operation }) => {
      const { path } = sample(operation);
      for (const name of listParameters(operation)) {
        const answer = await call(client, { method: 'GET', path: `${path}?${name}=1&${name}=2` });
        expectProblem(answer, 'validation-error');
        expect(answer.body.errors![0]!.path.split('.')[0]).toBe(name);
      }
    },
  );

  test.each(only(({ query }) => query !== undefined))(
    '$title with NUL in a parameter: validation-error that names it',
    async ({ operation }) => {
      const { path } = sample(operation);
      for (const name of listParameters(operation)) {
        for (const value of ['%00', '1%00', '%001']) {
          const answer = await call(client, { method: 'GET', path: `${path}?${name}=${value}` });
          expectProblem(answer, 'validation-error');
          expect(answer.body.errors!.map((error) => error.path)).toEqual([name]);
        }
      }
    },
  );

  test.each(only(hasCursor))('$title validates limit and cursor', async ({ operation }) => {
    const { method, path } = sample(operation);
    const engine = await startListingEngine(operation);
    for (const limit of ['0', '201', 'ten', '1.5', '']) {
      expectProblem(await call(client, { method, path: `${path}?limit=${limit}` }), 'validation-error');
    }
    for (const limit of ['1', '200']) {
      expect((await call(client, { method, path: `${path}?limit=${limit}` })).status).toBe(200);
    }
    for (const cursor of ['', 'x', 'A'.repeat(51)]) {
      expectProblem(await call(client, { method, path: `${path}?cursor=${cursor}` }), 'invalid-cursor');
    }
    await engine?.stop();
  });

  test.each(only(({ path }) => path.includes('{')))('$title with an absent id: not-found', async (row) => {
    const { operation } = row;
    expectProblem(await call(client, sample(operation, ABSENT_IDS)), 'not-found');
    const malformed = Object.fromEntries(Object.keys(ABSENT_IDS).map((name) => [name, 'x']));
    const named = { ...ABSENT_IDS, ...malformed, phone: ABSENT_IDS['phone']!, chat: ABSENT_IDS['chat']! };
    expectProblem(await call(client, sample(operation, named)), 'not-found');
  });

  test.each(only(({ ifMatch }) => ifMatch === true))(
    '$title with another version: precondition-failed',
    async ({ operation }) => {
      const answer = await call(client, sample(operation), { headers: { 'if-match': '"0"' } });
      expectProblem(answer, 'precondition-failed');
    },
  );

  test.each([...Map.groupBy(OPERATIONS, ({ path }) => path)])(
    '%s lists its methods in Allow',
    async (_, group) => {
      const { path } = sample(group[0]!, ABSENT_IDS);
      for (const method of ['PUT', 'OPTIONS', 'TRACE']) {
        const answer = await call(client, { method, path });
        expectProblem(answer, 'method-not-allowed');
        expect(answer.headers.allow).toBe(formatAllow(group));
      }
    },
  );

  test('names and routes are unique', () => {
    const names = OPERATIONS.map(({ name }) => name);
    const routes = OPERATIONS.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`);
    expect([new Set(names).size, new Set(routes).size]).toEqual([names.length, routes.length]);
  });
});

describe('Idempotency-Key', () => {
  const posts = only(heedsIdempotencyKey);
  const idempotentPosts = posts.filter(({ operation }) => operation.idempotent);

  test.each(posts)('$title with a key of invalid length: invalid-idempotency-key', async ({ operation }) => {
    for (const key of ['', 'x'.repeat(256)]) {
      const answer = await call(client, sample(operation), { headers: { 'idempotency-key': key } });
      expectProblem(answer, 'invalid-idempotency-key');
    }
  });

  const sealer = () => new Sealer(parseEncryptionKeys(api.encryptionKeys));
  const begin = ({ method, path }: Operation, key: string, body: unknown) =>
    new IdempotencyStore(api.db, sealer()).begin({
      accountId: account.id,
      route: `${method} ${path}`,
      key,
      ...hashBodyWithAllKeys(sealer(), account.id, body),
      instanceId: null,
    });

  test.each(idempotentPosts)(
    '$title with the key of another body: idempotency-key-reused',
    async ({ operation }) => {
      const key = `reused-${operation.name}`;
      await begin(operation, key, 'another body');
      const answer = await call(client, sample(operation), { headers: { 'idempotency-key': key } });
      expectProblem(answer, 'idempotency-key-reused');
    },
  );

  /** The parameters and body by which the operation recognizes a repeat. */
  function readIdentity(operation: Operation): unknown {
    const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    const params = Object.fromEntries(names.map((name) => [name, uuidOrText(name, world.ids[name]!)]));
    const { body } = sample(operation);
    if (operation.receive) {
      const sha256 = createHash('sha256').update('sample').digest();
      return { params, body: operation.receive.identity({ file: { sha256 }, filename: 'a.txt' } as never) };
    }
    return { params, body: operation.body?.parse(body) };
  }
  const uuidOrText = (name: string, value: string) => {
    const kind = idKindOf(name);
    return kind === undefined ? value : fromPublicId(kind, value)!;
  };

  test.each(idempotentPosts)(
    '$title while the first request is in progress: idempotency-in-progress',
    async ({ operation }) => {
      const key = `in-progress-${operation.name}`;
      await begin(operation, key, readIdentity(operation));
      const answer = await call(client, sample(operation), { headers: { 'idempotency-key': key } });
      expectProblem(answer, 'idempotency-in-progress');
    },
  );
});
