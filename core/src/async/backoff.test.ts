import { backoffDelay } from './backoff.js';

const backoff = { firstMs: 1_000, maxMs: 300_000 };

test.each([
  [1, 500, 1_000],
  [2, 1_000, 2_000],
  [5, 8_000, 16_000],
  [9, 128_000, 256_000],
  [10, 150_000, 300_000],
  [10_000, 150_000, 300_000],
])('repetition %i comes after %i to %i ms', (attempt, least, most) => {
  expect(backoffDelay(backoff, attempt, 0)).toBe(least);
  expect(backoffDelay(backoff, attempt, 1)).toBe(most);
});
