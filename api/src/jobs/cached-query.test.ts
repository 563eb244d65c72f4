import { cacheQuery } from './cached-query.js';

const TIMES = { freshMs: 100, timeoutMs: 100, maxAgeMs: 400 };

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A look that ends when the test says so, at a time that it tells. */
function slow() {
  const begun: ((value: string | Error) => void)[] = [];
  const read = () =>
    new Promise<string>((resolve, reject) =>
      begun.push((value) => (typeof value === 'string' ? resolve(value) : reject(value))),
    );
  const clock = { now: 0 };
  const look = cacheQuery(read, TIMES, () => clock.now);
  /** Looks until the patience is over. */
  const lookInVain = () => {
    const looking = look();
    jest.advanceTimersByTime(TIMES.timeoutMs);
    return looking;
  };
  return { begun, clock, look, lookInVain };
}

test('one look serves whoever asks while it is fresh', async () => {
  const { begun, clock, look } = slow();
  const all = [look(), look()];
  begun[0]!('first');
  clock.now += 99;
  expect(await Promise.all([...all, look()])).toEqual(['first', 'first', 'first']);
  expect(begun).toHaveLength(1);
});

test('a look that takes too long is waited for no longer, and none begins beside it', async () => {
  const { begun, look, lookInVain } = slow();
  const beside = look();
  expect(await Promise.all([lookInVain(), beside])).toEqual([null, null]);
  expect(await lookInVain()).toBeNull();
  expect(begun).toHaveLength(1);
});

test('what a slow look brought is told while the next one takes as long, but not for ever', async () => {
  const { begun, clock, look, lookInVain } = slow();
  expect(await lookInVain()).toBeNull();
  begun[0]!('first');
  expect(await look()).toBe('first');
  clock.now += 150;
  expect(await lookInVain()).toBe('first');
  expect(begun).toHaveLength(2);
  clock.now += 300;
  expect(await lookInVain()).toBeNull();
  begun[1]!('second');
  expect(await look()).toBe('second');
  expect(begun).toHaveLength(2);
});

test('Prometheus, which gives up after 10 s, is answered within 4 s', async () => {
  const looking = cacheQuery(() => new Promise<string>(() => undefined))();
  jest.advanceTimersByTime(4_000);
  expect(await looking).toBeNull();
});

test('a look that fails makes what was known unknown', async () => {
  const { begun, clock, look } = slow();
  const first = look();
  begun[0]!('first');
  expect(await first).toBe('first');
  clock.now += 150;
  const second = look();
  begun[1]!(new Error('away'));
  expect(await second).toBeNull();
});
