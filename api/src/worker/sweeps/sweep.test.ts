import { createLogger } from '@gwk/core/log';
import { until } from '@gwk/test/support/wait';
import { backoff, loop, type Sweep } from './sweep.js';

const log = createLogger('test', 'fatal');

test('a loop outlives its errors, backs off, and stops when it is told', async () => {
  let passes = 0;
  const results: boolean[] = [];
  const sweep: Sweep = {
    name: 'test',
    everyMs: 1,
    async pass() {
      passes += 1;
      if (passes < 3) throw new Error('away');
      return { amount: 1, more: passes < 5 };
    },
  };
  const stopping = new AbortController();
  const running = loop(sweep, { log, signal: stopping.signal, onPass: (ok) => results.push(ok) });
  await until(() => passes >= 10, { what: 'ten passes', timeoutMs: 20_000 });
  stopping.abort();
  await running;
  expect(results.slice(0, 5)).toEqual([false, false, true, true, true]);
});

test('a sweep that rests does so between passes while there is more, and else waits its time', async () => {
  const began: number[] = [];
  const sweep: Sweep = {
    name: 'test',
    everyMs: 3_600_000,
    restMs: 100,
    async pass() {
      began.push(performance.now());
      return { amount: 1, more: began.length < 3 };
    },
  };
  const stopping = new AbortController();
  const running = loop(sweep, { log, signal: stopping.signal });
  await until(() => began.length >= 3, { what: 'three passes', timeoutMs: 20_000 });
  stopping.abort();
  await running;
  expect(began).toHaveLength(3);
  expect(began[2]! - began[0]!).toBeGreaterThanOrEqual(2 * 89);
});

test.each([
  [500, 1, 500],
  [500, 2, 1_000],
  [500, 4, 4_000],
  [500, 99, 10_000],
  [1, 1, 100],
  [3_600_000, 1, 10_000],
])('every %d ms, after %d failures in a row: %d ms', (everyMs, failures, expected) => {
  expect(backoff(everyMs, failures)).toBe(expected);
});
