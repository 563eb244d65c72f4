import { inFakeTime } from '@gwk/test/support/fake-time';
import { backoffMs, WorkQueue } from './queue.js';

const quick = { firstMs: 20, maxMs: 200, random: () => 0 };
const open: WorkQueue[] = [];

const turn = () => new Promise((resolve) => setImmediate(resolve));

function createQueue(width: number, work: (key: string) => Promise<void> | void): WorkQueue {
  const queue = new WorkQueue(quick);
  open.push(queue);
  queue.start(width, async (key) => work(key));
  return queue;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((queue) => queue.close()));
});

test('processes a key once that was added several times', async () => {
  const done: string[] = [];
  const queue = new WorkQueue(quick);
  open.push(queue);
  for (const key of ['a', 'b', 'a', 'a', 'b']) queue.add(key, 'event');
  queue.start(4, async (key) => void done.push(key));
  await turn();
  expect(done).toEqual(['a', 'b']);
});

test('processes a key again if it was added meanwhile, never concurrently', async () => {
  const gates: (() => void)[] = [];
  const queue = createQueue(8, () => new Promise<void>((resolve) => gates.push(resolve)));
  queue.add('a', 'event');
  for (let i = 0; i < 20; i++) queue.add('a', 'event');
  await turn();
  expect(gates).toHaveLength(1);
  gates[0]!();
  await turn();
  expect(gates).toHaveLength(2);
  gates[1]!();
  await turn();
  expect(gates).toHaveLength(2);
  expect(queue.depth).toBe(0);
});

test('limits the concurrency and processes all keys', async () => {
  let inside = 0;
  let most = 0;
  const seen = new Set<string>();
  const queue = createQueue(3, async (key) => {
    most = Math.max(most, ++inside);
    await turn();
    seen.add(key);
    inside--;
  });
  for (let i = 0; i < 50; i++) queue.add(`key-${i}`, 'event');
  expect(queue.depth).toBe(50);
  while (queue.depth > 0) await turn();
  expect(most).toBe(3);
  expect(seen.size).toBe(50);
});

test('gives namespaces turns, and lets known keys of a namespace pass fresh ones', async () => {
  const done: string[] = [];
  const queue = new WorkQueue(quick, (key) => key.includes('new'));
  open.push(queue);
  for (const key of ['a/new-1', 'a/new-2', 'a/new-3', 'b/new-1', 'a/shop', 'c/shop']) queue.add(key, 'event');
  queue.start(1, async (key) => void done.push(key));
  while (queue.depth > 0) await turn();
  expect(done).toEqual(['a/shop', 'b/new-1', 'c/shop', 'a/new-1', 'a/new-2', 'a/new-3']);
});

test(
  'keeps the earliest of several timers',
  inFakeTime(async (pass) => {
    let worked = 0;
    const queue = createQueue(1, () => void worked++);
    queue.addAfter('a', 5_000);
    queue.addAfter('a', 20);
    queue.addAfter('a', 4_000);
    await pass(19);
    expect(worked).toBe(0);
    await pass(1);
    expect(worked).toBe(1);
    await pass(10_000);
    expect(worked).toBe(1);
  }),
);

test(
  'delays each retry longer and resets the delay on success',
  inFakeTime(() => {
    const queue = createQueue(1, () => undefined);
    const retries = ['a', 'a', 'a', 'b'].map((key) => queue.retry(key));
    expect(retries).toEqual([20, 40, 80, 20]);
    expect(queue.countFailures('a')).toBe(3);
    queue.forget('a');
    expect(queue.retry('a')).toBe(20);
  }),
);

test(
  'waits for running work on close and starts no more',
  inFakeTime(async (pass) => {
    const done: string[] = [];
    let finish = () => {};
    const queue = createQueue(1, async (key) => {
      await new Promise<void>((resolve) => (finish = resolve));
      done.push(key);
    });
    queue.add('a', 'event');
    queue.add('b', 'event');
    queue.addAfter('c', 1);
    let closed = false;
    const closing = queue.close().then(() => (closed = true));
    queue.add('d', 'event');
    await pass(1_000);
    expect([closed, done]).toEqual([false, []]);
    finish();
    await closing;
    await pass(1_000);
    expect(done).toEqual(['a']);
  }),
);

describe('backoff', () => {
  const real = { firstMs: 1000, maxMs: 300_000 };

  test.each([
    [1, 1000],
    [2, 2000],
    [5, 16_000],
    [9, 256_000],
    [10, 300_000],
    [5000, 300_000],
  ])('is after %i failures %i ms', (failures, ms) => {
    expect(backoffMs(failures, { ...real, random: () => 0 })).toBe(ms);
  });

  test('subtracts up to a fifth as jitter, never below the first delay', () => {
    expect(backoffMs(4, { ...real, random: () => 0.999 })).toBe(6402);
    expect(backoffMs(1, { ...real, random: () => 0.999 })).toBe(1000);
  });
});
