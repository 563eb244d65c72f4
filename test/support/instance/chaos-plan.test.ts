import { BACKGROUND, planChaos, STORM } from './chaos-plan.js';

const MINUTE = 60_000;

test('a seed makes the same plan each time, and another one makes another', () => {
  expect(planChaos(7, MINUTE)).toEqual(planChaos(7, MINUTE));
  expect(planChaos(8, MINUTE)).not.toEqual(planChaos(7, MINUTE));
});

test('a longer run begins as a shorter one', () => {
  const minute = planChaos(7, MINUTE);
  expect(planChaos(7, 10 * MINUTE).slice(0, minute.length)).toEqual(minute);
});

test.each([1, 2, 3])('a minute of seed %i has everything once', (seed) => {
  const whats = planChaos(seed, MINUTE).map(({ what }) => what);
  expect(new Set(whats)).toEqual(new Set([...STORM, ...BACKGROUND]));
});

test('between the storms of an hour connections can grow older than a minute', () => {
  const storms = planChaos(7, 60 * MINUTE).filter(({ what }) => STORM.some((one) => one === what));
  const gaps = storms.slice(1).map(({ atMs }, index) => atMs - storms[index]!.atMs);
  const calm = gaps.filter((gap) => gap > MINUTE).length;
  expect(calm).toBeGreaterThan(20);
  // Everything of a storm lies between two of them.
  expect(storms.length / (calm + 1)).toBeLessThanOrEqual(STORM.length);
});
