import { newUuid } from '@gwk/core/ids/ids';
import {
  sharedInternalApi,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import { until } from '@gwk/test/support/wait';
import { Prisma } from '../generated/prisma/client.js';

/** Calls about messages that arrive after their repeat, and after later calls. */
let internalApi: InternalApiWorld;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
});
afterAll(() => internalApi.close());

let engine: TestEngine;
beforeEach(async () => {
  engine = await (await internalApi.addEngine()).acquire();
});

let people = 0;
const someone = () => `55119${String(10_000_000 + people++)}`;
const accept = () => internalApi.accept({ instance: engine.instanceId, to: someone() });
const ids = (messages: { message_id: string }[]) => messages.map((one) => one.message_id);
const status = async (id: string) =>
  (await internalApi.world.database.message.findUniqueOrThrow({ where: { id } })).status;

test('a claim that arrives after its repeat takes nothing, because no caller awaits its messages', async () => {
  const claimId = newUuid();
  const late = [100, claimId, ++engine.number] as const;
  expect(await engine.claim(100, claimId, ++engine.number, true)).toEqual([]);
  const message = await accept();
  expect(await engine.claim(...late)).toEqual([]);
  expect(await status(message)).toBe('queued');
  expect(ids(await engine.claim())).toEqual([message]);
});

test('a claim repeated once takes nothing after a later claim was answered', async () => {
  const late = [100, newUuid(), ++engine.number] as const;
  await engine.claim(100, late[1], ++engine.number, true);
  await engine.claim();
  const message = await accept();
  expect(await engine.claim(...late)).toEqual([]);
  expect(await status(message)).toBe('queued');
});

test('a repeated claim returns the messages of the first attempt', async () => {
  const message = await accept();
  const claimId = newUuid();
  expect(ids(await engine.claim(100, claimId))).toEqual([message]);
  expect(ids(await engine.claim(100, claimId, ++engine.number, true))).toEqual([message]);
  expect(await engine.claim(100, claimId, engine.number - 1)).toEqual([]);
  expect(await status(message)).toBe('sending');
});

test('a repeated claim waits for an attempt under way, and returns the messages that it takes', async () => {
  const { database } = internalApi.world;
  const claimId = newUuid();
  const { epoch, holder } = engine.lease;
  const number = ++engine.number;
  const attempt = Prisma.sql`
    SELECT place FROM gwk_claim_messages(ARRAY[${engine.instanceId}::uuid], ARRAY[${epoch}::integer], ARRAY[${holder}::uuid],
      ARRAY[${number}::bigint], ARRAY[false], ARRAY[${claimId}::uuid], ARRAY[10], ARRAY[true])`;
  let repeat: ReturnType<typeof engine.claim> | undefined;
  let message: string | undefined;
  await database.$transaction(async (tx) => {
    await tx.$queryRaw(attempt);
    repeat = engine.claim(10, claimId, ++engine.number, true);
    await until(() => claimWaits(), { what: 'the repeat waits for the attempt' });
    message = await accept();
    await tx.$queryRaw(attempt);
  });
  expect(ids(await repeat!)).toEqual([message]);
});

test('a repeated claim waits for no other call of its instance', async () => {
  const { epoch, holder } = engine.lease;
  await internalApi.world.database.$transaction(async (tx) => {
    await tx.$queryRaw`
      SELECT gwk_fence(ARRAY[${engine.instanceId}::uuid], ARRAY[${epoch}::integer], ARRAY[${holder}::uuid])`;
    expect(await engine.claim(10, newUuid(), ++engine.number, true)).toEqual([]);
  });
});

async function claimWaits(): Promise<boolean> {
  const waiting = await internalApi.world.database.$queryRaw<unknown[]>`
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%gwk_claim_messages%'`;
  return waiting.length > 0;
}

test('a claim that finds nothing writes nothing', async () => {
  const { database } = internalApi.world;
  const where = { instanceId: engine.instanceId };
  await engine.claim();
  expect(await database.engineCall.count({ where })).toBe(0);
  await engine.claim(100, newUuid(), ++engine.number, true);
  expect(await database.engineCall.findMany({ where })).toMatchObject([{ route: 'claims', number: 2n }]);
  await engine.claim();
  expect(await database.engineCall.findMany({ where })).toMatchObject([{ route: 'claims', number: 2n }]);
});

test('concurrent claims are answered by their own numbers', async () => {
  const accepted = await Promise.all(Array.from({ length: 5 }, () => accept()));
  const other = await (await internalApi.addEngine()).acquire();
  const theirs = await internalApi.accept({ instance: other.instanceId, to: someone() });
  const claimId = newUuid();
  const [first, second, third] = [++engine.number, ++engine.number, ++engine.number];
  const answers = await Promise.all([
    engine.claim(100, claimId, first),
    engine.claim(100, claimId, second, true),
    engine.claim(100, claimId, third, true),
    other.claim(),
  ]);
  const all = accepted.sort();
  const [, , last, others] = answers.map((messages) => ids(messages).sort());
  expect([last, others]).toEqual([all, [theirs]]);
});

test('a return of an earlier claim does not affect the current one', async () => {
  const message = await accept();
  const claimId = newUuid();
  await engine.claim(1, claimId);
  const late = { kind: 'returned', message_id: message, claim_id: claimId, unsent: true } as const;
  await engine.report(late);
  expect(ids(await engine.claim())).toEqual([message]);
  await engine.build(message);
  await engine.report(late);
  expect(await status(message)).toBe('sending');
  expect(await engine.claim()).toEqual([]);
  await engine.report({ kind: 'returned', message_id: message, unsent: true });
  expect(await status(message)).toBe('queued');
});
