import { BACKGROUND, planChaos, STORM } from './chaos-plan.js';

const MINUTE = 60_000;

test('derives the same plan from the same seed and another from another seed', () => {
  expect(planChaos(7, MINUTE)).toEqual(planChaos(7, MINUTE));
  expect(planChaos(8, MINUTE)).not.toEqual(planChaos(7, MINUTE));
});

test('starts a longer run like a shorter one', () => {
  const minute = planChaos(7, MINUTE);
  expect(planChaos(7, 10 * MINUTE).slice(0, minute.length)).toEqual(minute);
});

test.each([1, 2, 3])('plans every fault once within a minute (seed %i)', (seed) => {
  const whats = planChaos(seed, MINUTE).map(({ what }) => what);
  expect(new Set(whats)).toEqual(new Set([...STORM, ...BACKGROUND]));
});

test('leaves pauses between storms in which connections grow older than a minute', () => {
  const storms = planChaos(7, 60 * MINUTE).filter(({ what }) => STORM.some((one) => one === what));
  const gaps = storms.slice(1).map(({ atMs }, index) => atMs - storms[index]!.atMs);
  const calm = gaps.filter((gap) => gap > MINUTE).length;
  expect(calm).toBeGreaterThan(20);
  // All faults of a storm lie between two pauses.
  expect(storms.length / (calm + 1)).toBeLessThanOrEqual(STORM.length);
});
