import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import { ReadFailure } from '../client-version/source.js';
import { clientVersionJob } from './client-version.js';

const SERVED = '2.3000.1044142122';
const HOUR_MS = 3_600_000;

let given: JobWorld;
const results: string[] = [];
beforeAll(async () => {
  given = await createJobWorld();
  await given.world.addInstance({ kind: 'web' });
});
beforeEach(async () => {
  results.length = 0;
  const { clientVersionState } = given.world.database;
  await clientVersionState.deleteMany();
  await clientVersionState.create({ data: {} });
});
afterAll(() => given.world.close());

const job = (read: () => Promise<string>, random = 0) =>
  clientVersionJob(given.deps, {
    url: 'http://127.0.0.1:1/sw.js',
    agents: null,
    onRead: (result) => results.push(result),
    random: () => random,
    read,
  });

async function readDueInMs(): Promise<number> {
  const state = await given.world.database.clientVersionState.findFirstOrThrow();
  return state.dueAt.getTime() - Date.now();
}

test.each([
  [0, 6 * HOUR_MS],
  [1, 4.5 * HOUR_MS],
])('with the random number %d the next read follows after %d ms', async (random, ms) => {
  expect(await job(async () => SERVED, random).pass()).toEqual({ amount: 1, more: false });
  expect(Math.abs((await readDueInMs()) - ms)).toBeLessThan(60_000);
  expect(results).toEqual(['ok']);
});

test('of several workers, one reads', async () => {
  let reads = 0;
  const passes = Array.from({ length: 5 }, () => job(async () => ((reads += 1), SERVED)).pass());
  const amounts = (await Promise.all(passes)).map(({ amount }) => amount);
  expect([reads, amounts.toSorted((one, other) => one - other)]).toEqual([1, [0, 0, 0, 0, 1]]);
});

test('a failed read is counted, keeps the last good version and follows after an hour', async () => {
  await job(async () => SERVED).pass();
  await given.world.database.clientVersionState.updateMany({
    data: { dueAt: new Date(0), triedAt: new Date(0) },
  });
  await job(() => Promise.reject(new ReadFailure('no_revision'))).pass();
  expect(results).toEqual(['ok', 'no_revision']);
  const state = await given.world.database.clientVersionState.findFirstOrThrow();
  expect(state).toMatchObject({ servedVersion: SERVED, fault: 'no_revision' });
  expect(Math.abs((await readDueInMs()) - HOUR_MS)).toBeLessThan(60_000);
});

test('an error of Postgres is an error of the job', async () => {
  await expect(job(() => Promise.reject(new Error('broken'))).pass()).rejects.toThrow('broken');
  expect(results).toEqual([]);
});
