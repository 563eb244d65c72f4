import { ResyncSchedule } from './resync.js';

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `n${n}`);

function aRound(keys: string[], stepMs = 1000): string[][] {
  const rounds = new ResyncSchedule(300_000, () => [...keys]);
  rounds.due(0);
  const steps: string[][] = [];
  for (let now = stepMs; now <= 300_000; now += stepMs) steps.push(rounds.due(now));
  return steps;
}

test('ten thousand are looked at once in a round, some of them each second', () => {
  const steps = aRound(names(10_000));
  expect(new Set(steps.flat())).toEqual(new Set(names(10_000)));
  expect(steps.flat()).toHaveLength(10_000);
  expect(Math.max(...steps.map(({ length }) => length))).toBeLessThanOrEqual(34);
});

test('few are looked at once too, and not again before the round is over', () => {
  expect(aRound(names(3)).flat().sort()).toEqual(names(3));
  expect(aRound([])).toEqual(Array.from({ length: 300 }, () => []));
});

test('steps that come late leave nobody out', () => {
  const rounds = new ResyncSchedule(300_000, () => names(1000));
  rounds.due(0);
  expect(rounds.due(400_000)).toHaveLength(1000);
});

test('a round begins with those that are there then', () => {
  let keys = ['a'];
  const rounds = new ResyncSchedule(1000, () => [...keys]);
  rounds.due(0);
  keys = ['b'];
  expect(rounds.due(999)).toEqual(['a']);
  expect(rounds.due(1000)).toEqual([]);
  expect(rounds.due(1999)).toEqual(['b']);
});
