import { nextInterval } from './usage.js';

const at = (time: string) => Date.parse(`2026-11-26T${time}Z`);

test.each([
  ['an hour at most', '10:00:00', '20:00:00', '11:00:00'],
  ['up to 5 minutes ago', '10:00:00', '10:30:00', '10:25:00'],
  ['one day at most', '23:30:00', '23:59:59', '23:54:59'],
])('counts %s', (_, from, now, until) => {
  expect(nextInterval(at(from), at(now))).toEqual({ from: at(from), until: at(until) });
});

test('ends an interval at midnight', () => {
  const midnight = at('00:00:00') + 86_400_000;
  expect(nextInterval(at('23:30:00'), midnight + 86_400_000)?.until).toBe(midnight);
});

test('counts nothing newer than 5 minutes, or after a clock that was ahead', () => {
  expect(nextInterval(at('10:00:00'), at('10:05:00'))).toBeNull();
  expect(nextInterval(at('12:00:00'), at('10:00:00'))).toBeNull();
});
