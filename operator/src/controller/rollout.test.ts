import { Rollout } from './rollout.js';

const opened = (width: number): Rollout => {
  const rollout = new Rollout(width);
  rollout.open();
  return rollout;
};

test('so many have a turn, and the next one gets it when an engine works again', () => {
  const rollout = opened(1);
  expect(rollout.ask('a', true)).toBe(true);
  expect(rollout.ask('b', true)).toBe(false);
  expect(rollout.saw('a', 'moving')).toEqual([]);
  expect(rollout.saw('a', 'connected')).toEqual(['b']);
  expect(rollout.ask('b', true)).toBe(true);
});

test('who has a turn keeps it when it asks again', () => {
  const rollout = opened(1);
  expect([rollout.ask('a', true), rollout.ask('a', true)]).toEqual([true, true]);
  expect(rollout.moving).toBe(1);
});

test('an engine that was connected must be connected again before the next one goes', () => {
  const rollout = opened(1);
  rollout.ask('a', true);
  rollout.ask('b', true);
  expect(rollout.saw('a', 'works')).toEqual([]);
  expect(rollout.saw('a', 'connected')).toEqual(['b']);
});

test('an engine that was not connected need only work again', () => {
  const rollout = opened(1);
  rollout.ask('a', false);
  rollout.ask('b', false);
  expect(rollout.saw('a', 'works')).toEqual(['b']);
});

test('a version that never comes to work stops the upgrade', () => {
  const rollout = opened(2);
  for (const key of ['a', 'b', 'c']) rollout.ask(key, true);
  for (let pass = 0; pass < 5; pass++) for (const key of ['a', 'b']) rollout.saw(key, 'moving');
  expect(rollout.ask('c', true)).toBe(false);
  expect([rollout.moving, rollout.waiting]).toEqual([2, 1]);
});

test('an instance that wants no engine any more gives its turn back', () => {
  const rollout = opened(1);
  rollout.ask('a', true);
  rollout.ask('b', true);
  expect(rollout.saw('a', 'settled')).toEqual(['b']);
});

test('no turn is given before everything was looked at once, and what was found moving counts', () => {
  const rollout = new Rollout(2);
  expect(rollout.ask('a', true)).toBe(false);
  rollout.saw('b', 'moving');
  expect(rollout.open()).toEqual(['a']);
  expect(rollout.ask('a', true)).toBe(true);
  expect(rollout.ask('c', true)).toBe(false);
});

test('a number that was broken before keeps the others from their upgrade for a while only', () => {
  let now = 0;
  const rollout = new Rollout(1, 1000, () => now);
  rollout.saw('broken', 'moving');
  rollout.open();
  expect(rollout.ask('a', true)).toBe(false);
  now = 1001;
  rollout.saw('broken', 'moving');
  expect(rollout.ask('a', true)).toBe(true);
  expect(rollout.ask('b', true)).toBe(false);
});
