import { endedPod, minutes, NOW } from '@gwk/test/support/operator/build';
import { recordExit, isCrashLoop, NO_HISTORY, type History } from './history.js';

const backoff = { firstMs: 1000, maxMs: 300_000, random: () => 0 };
const ended = (name: string, ranMs: number, special = {}) =>
  endedPod({ name, startedAt: NOW - ranMs, endedAt: NOW, ...special });

function waits(runs: number[]): number[] {
  let history: History = NO_HISTORY;
  return runs.map((ranMs, at) => {
    history = recordExit(history, ended(`pod-${at}`, ranMs), backoff);
    return history.nextStartAt - NOW;
  });
}

test('restarts at once after the first exit, then after 1 s to 5 min', () => {
  expect(waits(Array<number>(12).fill(3000))).toEqual([
    0, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000,
  ]);
});

test('resets the backoff after a run of 10 minutes', () => {
  expect(waits([1000, 1000, 1000, minutes(10), 1000])).toEqual([0, 1000, 2000, 0, 1000]);
});

test('neither counts nor resets on a requested exit', () => {
  const twice = recordExit(recordExit(NO_HISTORY, ended('a', 1), backoff), ended('b', 1), backoff);
  expect(recordExit(twice, ended('c', 1, { requested: true }), backoff)).toEqual({ ...twice, counted: 'c' });
});

test('counts the same exit once', () => {
  const once = recordExit(NO_HISTORY, ended('a', 1), backoff);
  expect(recordExit(once, ended('a', 1), backoff)).toBe(once);
});

test('keeps the description of the exit', () => {
  expect(
    recordExit(NO_HISTORY, ended('a', 1, { how: 'exit code 78: wrong settings' }), backoff).lastError,
  ).toBe('exit code 78: wrong settings');
});

test.each([
  ['is not in a crash loop after two exits', 2, 0, false],
  ['is in a crash loop after three exits', 3, 0, true],
  ['is in a crash loop during its first minutes', 3, minutes(5), true],
  ['is out of the crash loop after a longer run', 3, minutes(7), false],
  ['is in a crash loop while it waits for its next start', 12, -minutes(4), true],
])('an engine %s', (_, ends, sinceStartMs, is) => {
  let history: History = NO_HISTORY;
  for (let end = 0; end < ends; end++) history = recordExit(history, ended(`pod-${end}`, 3000), backoff);
  expect(isCrashLoop(history, history.nextStartAt + sinceStartMs)).toBe(is);
});
