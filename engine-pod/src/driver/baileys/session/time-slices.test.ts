import { ManualClock } from '@gwk/test/support/clock';
import { TimeSlices } from './time-slices.js';

/** Runs 100 steps of 3 ms each, and counts the steps in each turn of the event loop. */
async function countByTurn(fail = false): Promise<number[]> {
  const clock = new ManualClock();
  const slices = new TimeSlices(clock);
  const turns = [0];
  let watching = true;
  const watch = (): void => {
    turns.push(0);
    if (watching) setImmediate(watch);
  };
  setImmediate(watch);
  const steps = Array.from({ length: 100 }, () =>
    slices.run(async () => {
      clock.advance(3);
      await Promise.resolve();
      turns[turns.length - 1]! += 1;
      if (fail) throw new Error('failed');
    }),
  );
  const settled = await Promise.allSettled(steps);
  watching = false;
  expect(settled.every(({ status }) => status === (fail ? 'rejected' : 'fulfilled'))).toBe(true);
  return turns.filter((count) => count > 0);
}

test.each([false, true])('lets the event loop continue after 10 ms of work (failing: %s)', async (fail) => {
  const turns = await countByTurn(fail);
  expect(Math.max(...turns)).toBeLessThanOrEqual(5);
  expect(turns.reduce((sum, count) => sum + count, 0)).toBe(100);
});
