import { resolvesWithin, resultWithin, withTimeout } from './timeout.js';

const never = new Promise<number>(() => {});

test('returns the result in time, and the fallback after a failure or the time limit', async () => {
  expect(await resultWithin(Promise.resolve(1), 1_000, 2)).toBe(1);
  expect(await resultWithin(Promise.reject(new Error('bad')), 1_000, 2)).toBe(2);
  expect(await resultWithin(never, 1, 2)).toBe(2);
});

test('reports whether the promise resolved in time', async () => {
  expect(await resolvesWithin(Promise.resolve(), 1_000)).toBe(true);
  expect(await resolvesWithin(Promise.reject(new Error('bad')), 1_000)).toBe(false);
  expect(await resolvesWithin(never, 1)).toBe(false);
});

test('settles like the work in time, and like the callback after the time limit', async () => {
  const late = (): number => {
    throw new Error('late');
  };
  expect(await withTimeout(Promise.resolve(1), 1_000, late)).toBe(1);
  await expect(withTimeout(Promise.reject(new Error('bad')), 1_000, late)).rejects.toThrow('bad');
  await expect(withTimeout(never, 1, late)).rejects.toThrow('late');
});
