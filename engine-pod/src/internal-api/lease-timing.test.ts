import { closeAt, closeMargin, mayActAt, renewDelay, renewTimeout } from './lease-timing.js';

test.each([
  ['a lease of 45 s', 45_000, 5_000],
  ['a longer one', 600_000, 5_000],
  ['a short one', 2_700, 300],
])('%s is left before its end', (_case, leaseMs, margin) => {
  expect(closeMargin(leaseMs)).toBe(margin);
});

test.each([
  ['right after the request was sent', 1_000, true],
  ['at the last moment', 1_000 + 40_000 - 1, true],
  ['five seconds before the end', 1_000 + 40_000, false],
  ['after the end', 1_000 + 45_000, false],
])('a lease of 45 s allows to act %s: %#', (_case, now, allowed) => {
  const term = { from: 1_000, leaseMs: 45_000 };
  expect(closeAt(term)).toBe(41_000);
  expect(mayActAt(term, now)).toBe(allowed);
});

test.each([
  ['an answered renewal is followed by the next in its time', 10_000, 0, [8_000, 10_000]],
  ['an unanswered one is repeated soon', 10_000, 1, [1_600, 2_000]],
  ['but never later than it would have come anyway', 500, 3, [400, 500]],
])('%s', (_case, renewMs, unanswered, [least, most]) => {
  expect(renewDelay(renewMs, unanswered, 0)).toBe(least);
  expect(renewDelay(renewMs, unanswered, 1)).toBe(most);
});

test('several renewals fit between the first unanswered one and the close of the socket', () => {
  for (const [leaseMs, renewMs] of [
    [45_000, 10_000],
    [3_000, 500],
  ] as const) {
    const each = renewTimeout(leaseMs) + renewDelay(renewMs, 1, 1);
    expect((closeAt({ from: 0, leaseMs }) - renewMs) / each).toBeGreaterThan(2);
  }
});
