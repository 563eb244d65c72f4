import { cacheQuery } from './cached-query.js';

const TIMES = { freshMs: 100, timeoutMs: 100, maxAgeMs: 400 };

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A query that the test ends, on a clock that the test sets. */
function slow() {
  const begun: ((value: string | Error) => void)[] = [];
  const read = () =>
    new Promise<string>((resolve, reject) =>
      begun.push((value) => (typeof value === 'string' ? resolve(value) : reject(value))),
    );
  const clock = { now: 0 };
  const query = cacheQuery(read, TIMES, () => clock.now);
  /** Queries until the timeout is over. */
  const queryUntilTimeout = () => {
    const pending = query();
    jest.advanceTimersByTime(TIMES.timeoutMs);
    return pending;
  };
  return { begun, clock, query, queryUntilTimeout };
}

test('one query serves all callers while its result is fresh', async () => {
  const { begun, clock, query } = slow();
  const all = [query(), query()];
  begun[0]!('first');
  clock.now += 99;
  expect(await Promise.all([...all, query()])).toEqual(['first', 'first', 'first']);
  expect(begun).toHaveLength(1);
});

test('answers null after the timeout, and starts no second query meanwhile', async () => {
  const { begun, query, queryUntilTimeout } = slow();
  const beside = query();
  expect(await Promise.all([queryUntilTimeout(), beside])).toEqual([null, null]);
  expect(await queryUntilTimeout()).toBeNull();
  expect(begun).toHaveLength(1);
});

test('answers with the last result while the next query is slow, until maxAgeMs', async () => {
  const { begun, clock, query, queryUntilTimeout } = slow();
  expect(await queryUntilTimeout()).toBeNull();
  begun[0]!('first');
  expect(await query()).toBe('first');
  clock.now += 150;
  expect(await queryUntilTimeout()).toBe('first');
  expect(begun).toHaveLength(2);
  clock.now += 300;
  expect(await queryUntilTimeout()).toBeNull();
  begun[1]!('second');
  expect(await query()).toBe('second');
  expect(begun).toHaveLength(2);
});

test('answers Prometheus, whose scrape times out after 10 s, within 4 s', async () => {
  const pending = cacheQuery(() => new Promise<string>(() => undefined))();
  jest.advanceTimersByTime(4_000);
  expect(await pending).toBeNull();
});

test('forgets the last result when a query fails', async () => {
  const { begun, clock, query } = slow();
  const first = query();
  begun[0]!('first');
  expect(await first).toBe('first');
  clock.now += 150;
  const second = query();
  begun[1]!(new Error('unavailable'));
  expect(await second).toBeNull();
});
