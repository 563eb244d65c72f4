import { createLogger } from '@gwk/core/process/log';
import { backoff, loop, passBatches, type Job, type JobResult } from './job.js';

const log = createLogger('test', 'fatal');

/** Runs a loop for one pass an outcome. Returns whether each pass succeeded, and the pause after each. */
async function looped(times: Pick<Job, 'everyMs' | 'restMs'>, outcomes: (JobResult | Error)[]) {
  const stopping = new AbortController();
  const results: boolean[] = [];
  const rests: number[] = [];
  const left = outcomes.values();
  const pass = (): Promise<JobResult> => {
    const outcome = left.next().value!;
    return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
  };
  const rest = (ms: number): Promise<void> => {
    rests.push(ms);
    if (rests.length === outcomes.length) stopping.abort();
    return Promise.resolve();
  };
  const onPass = (ok: boolean) => results.push(ok);
  await loop({ name: 'test', ...times, pass, rest }, { log, signal: stopping.signal, onPass });
  return { results, rests };
}

const MORE = { amount: 1, more: true };
const DONE = { amount: 1, more: false };
const FAILURE = new Error('unavailable');

/** Allows 10 % either way: pauses are random so that workers do not synchronize. */
function expectAbout(rests: number[], expected: number[]): void {
  expect(rests).toHaveLength(expected.length);
  for (const [index, ms] of expected.entries()) {
    expect(rests[index]).toBeGreaterThanOrEqual(ms * 0.9);
    expect(rests[index]).toBeLessThanOrEqual(ms * 1.1);
  }
}

test('a loop continues after errors, backs off, and stops on its signal', async () => {
  const { results, rests } = await looped({ everyMs: 1 }, [FAILURE, FAILURE, MORE, MORE, DONE]);
  expect(results).toEqual([false, false, true, true, true]);
  expectAbout(rests, [100, 200, 0, 0, 1]);
});

test('a job with restMs pauses that long while there is more, and else waits its period', async () => {
  const { rests } = await looped({ everyMs: 3_600_000, restMs: 100 }, [MORE, MORE, DONE]);
  expectAbout(rests, [100, 100, 3_600_000]);
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

test('adds up the batches of a pass, and has more work after a full batch', async () => {
  const identity = (amount: number) => Promise.resolve(amount);
  expect(await passBatches([3, 200, 5], 200, identity)).toEqual({ amount: 208, more: true });
  expect(await passBatches([3, 199], 200, identity)).toEqual({ amount: 202, more: false });
});
