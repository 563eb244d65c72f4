import { ResyncSchedule } from './resync.js';

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `n${n}`);

function runPeriod(keys: string[], stepMs = 1000): string[][] {
  const schedule = new ResyncSchedule(300_000, () => [...keys]);
  schedule.due(0);
  const steps: string[][] = [];
  for (let now = stepMs; now <= 300_000; now += stepMs) steps.push(schedule.due(now));
  return steps;
}

test('spreads 10,000 keys evenly over the period, each once', () => {
  const steps = runPeriod(names(10_000));
  expect(new Set(steps.flat())).toEqual(new Set(names(10_000)));
  expect(steps.flat()).toHaveLength(10_000);
  expect(Math.max(...steps.map(({ length }) => length))).toBeLessThanOrEqual(34);
});

test('returns few keys once per period', () => {
  expect(runPeriod(names(3)).flat().sort()).toEqual(names(3));
  expect(runPeriod([])).toEqual(Array.from({ length: 300 }, () => []));
});

test('returns all remaining keys after late steps', () => {
  const schedule = new ResyncSchedule(300_000, () => names(1000));
  schedule.due(0);
  expect(schedule.due(400_000)).toHaveLength(1000);
});

test('reads the keys at the start of each period', () => {
  let keys = ['a'];
  const schedule = new ResyncSchedule(1000, () => [...keys]);
  schedule.due(0);
  keys = ['b'];
  expect(schedule.due(999)).toEqual(['a']);
  expect(schedule.due(1000)).toEqual([]);
  expect(schedule.due(1999)).toEqual(['b']);
});
