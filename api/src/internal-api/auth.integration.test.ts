import {
  sharedInternalApi,
  OPERATOR_TOKEN,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import type { Database } from '../database/database.js';
import { Authentication } from './auth.js';

const REMEMBERED_MS = 1_500;

let port: InternalApiWorld;
const engines: TestEngine[] = [];
beforeAll(async () => {
  port = await sharedInternalApi();
  for (let count = 0; count < 8; count++) engines.push(await port.addEngine());
});
afterAll(() => port.close());

/** With a clock that is set by hand, and told of each look at the tokens. */
function authentication(looking: () => Promise<void> = () => Promise.resolve()) {
  let now = 0;
  let looks = 0;
  const { database } = port.world;
  const watched = {
    $queryRaw: async (...query: Parameters<Database['$queryRaw']>) => {
      looks += 1;
      const rows = await database.$queryRaw(...query);
      await looking();
      return rows;
    },
  } as Pick<Database, '$queryRaw'>;
  const auth = new Authentication(watched, OPERATOR_TOKEN, () => now);
  return {
    auth,
    looks: () => looks,
    pass: (ms: number) => (now += ms),
    of: ({ token }: Pick<TestEngine, 'token'>) => auth.engine(`Bearer ${token}`),
  };
}

test('many engines that call at once, each several times, cost one statement', async () => {
  const { of, looks } = authentication();
  const callers = await Promise.all([...engines, ...engines].map(of));
  expect(callers.map(({ instanceId }) => instanceId)).toEqual(
    [...engines, ...engines].map(({ instanceId }) => instanceId),
  );
  expect(looks()).toBe(1);
});

test('an engine that is looked up again takes along those that were heard of', async () => {
  const { of, looks, pass } = authentication();
  await Promise.all(engines.map(of));
  pass(REMEMBERED_MS - 1);
  await Promise.all(engines.map(of));
  pass(1);
  await of(engines[0]!);
  pass(REMEMBERED_MS - 1);
  await Promise.all(engines.map(of));
  expect(looks()).toBe(2);
});

test('an engine that was not heard of is forgotten in its time', async () => {
  const { of, looks, pass } = authentication();
  await Promise.all(engines.map(of));
  pass(REMEMBERED_MS);
  await of(engines[0]!);
  await of(engines[1]!);
  expect(looks()).toBe(3);
});

test('an unknown token is refused among known ones', async () => {
  const { of } = authentication();
  const callers = [engines[0]!, { token: 'nobody' }, engines[1]!].map(of);
  expect((await Promise.allSettled(callers)).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  await expect(callers[1]).rejects.toMatchObject({ refusal: 'unauthorized' });
});

test('a token that is revoked while it is looked up is not remembered from before', async () => {
  const engine = await port.addEngine();
  let revoke = true;
  const { auth, of, looks } = authentication(async () => {
    if (!revoke) return;
    revoke = false;
    await port.world.database.engineToken.updateMany({
      where: { instanceId: engine.instanceId },
      data: { revokedAt: new Date() },
    });
    auth.forget(engine.instanceId);
  });
  await of(engine);
  await expect(of(engine)).rejects.toMatchObject({ refusal: 'unauthorized' });
  expect(looks()).toBe(2);
});
