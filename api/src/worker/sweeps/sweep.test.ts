import { createLogger } from '@gwk/core/log';
import { until } from '@gwk/test/harness/wait';
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
