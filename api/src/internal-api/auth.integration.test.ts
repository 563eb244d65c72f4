import {
  sharedInternalApi,
  OPERATOR_TOKEN,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import type { Database } from '../database/database.js';
import { Authentication } from './auth.js';

const CACHED_MS = 1_500;

let internalApi: InternalApiWorld;
const engines: TestEngine[] = [];
beforeAll(async () => {
  internalApi = await sharedInternalApi();
  for (let count = 0; count < 8; count++) engines.push(await internalApi.addEngine());
});
afterAll(() => internalApi.close());

/** With a manual clock, and a callback after each query of tokens. */
function authentication(onQuery: () => Promise<void> = () => Promise.resolve()) {
  let now = 0;
  let queries = 0;
  const { database } = internalApi.world;
  const counting = {
    $queryRaw: async (...query: Parameters<Database['$queryRaw']>) => {
      queries += 1;
      const rows = await database.$queryRaw(...query);
      await onQuery();
      return rows;
    },
  } as Pick<Database, '$queryRaw'>;
  const auth = new Authentication(counting, OPERATOR_TOKEN, () => now);
  return {
    auth,
    queries: () => queries,
    pass: (ms: number) => (now += ms),
    authenticate: ({ token }: Pick<TestEngine, 'token'>) => auth.engine(`Bearer ${token}`),
  };
}

test('authenticates concurrent calls of many engines with one query', async () => {
  const { authenticate, queries } = authentication();
  const callers = await Promise.all([...engines, ...engines].map(authenticate));
  expect(callers.map(({ instanceId }) => instanceId)).toEqual(
    [...engines, ...engines].map(({ instanceId }) => instanceId),
  );
  expect(queries()).toBe(1);
});

test('renews the tokens in use together with an expired one', async () => {
  const { authenticate, queries, pass } = authentication();
  await Promise.all(engines.map(authenticate));
  pass(CACHED_MS - 1);
  await Promise.all(engines.map(authenticate));
  pass(1);
  await authenticate(engines[0]!);
  pass(CACHED_MS - 1);
  await Promise.all(engines.map(authenticate));
  expect(queries()).toBe(2);
});

test('forgets an engine that did not call for the cache time', async () => {
  const { authenticate, queries, pass } = authentication();
  await Promise.all(engines.map(authenticate));
  pass(CACHED_MS);
  await authenticate(engines[0]!);
  await authenticate(engines[1]!);
  expect(queries()).toBe(3);
});

test('refuses an unknown token among known ones', async () => {
  const { authenticate } = authentication();
  const callers = [engines[0]!, { token: 'nobody' }, engines[1]!].map(authenticate);
  expect((await Promise.allSettled(callers)).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  await expect(callers[1]).rejects.toMatchObject({ refusal: 'unauthorized' });
});

test('does not cache a token that is revoked during its query', async () => {
  const engine = await internalApi.addEngine();
  let revoke = true;
  const { auth, authenticate, queries } = authentication(async () => {
    if (!revoke) return;
    revoke = false;
    await internalApi.world.database.engineToken.updateMany({
      where: { instanceId: engine.instanceId },
      data: { revokedAt: new Date() },
    });
    auth.forget(engine.instanceId);
  });
  await authenticate(engine);
  await expect(authenticate(engine)).rejects.toMatchObject({ refusal: 'unauthorized' });
  expect(queries()).toBe(2);
});
