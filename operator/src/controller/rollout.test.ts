import { inFakeTime } from '@gwk/test/support/fake-time';
import { Rollout } from './rollout.js';

const opened = (width: number): Rollout => {
  const rollout = new Rollout(width);
  rollout.open();
  return rollout;
};

test('grants the next turn when an engine is connected again', () => {
  const rollout = opened(1);
  expect(rollout.request('a', true)).toBe(true);
  expect(rollout.request('b', true)).toBe(false);
  expect(rollout.report('a', 'moving')).toEqual([]);
  expect(rollout.report('a', 'connected')).toEqual(['b']);
  expect(rollout.request('b', true)).toBe(true);
});

test('keeps a granted turn on a second request', () => {
  const rollout = opened(1);
  expect([rollout.request('a', true), rollout.request('a', true)]).toEqual([true, true]);
  expect(rollout.moving).toBe(1);
});

test('waits until a connected engine is connected again', () => {
  const rollout = opened(1);
  rollout.request('a', true);
  rollout.request('b', true);
  expect(rollout.report('a', 'works')).toEqual([]);
  expect(rollout.report('a', 'connected')).toEqual(['b']);
});

test('waits only until an unconnected engine works again', () => {
  const rollout = opened(1);
  rollout.request('a', false);
  rollout.request('b', false);
  expect(rollout.report('a', 'works')).toEqual(['b']);
});

test('pauses the upgrade on a version that never works', () => {
  const rollout = opened(2);
  for (const key of ['a', 'b', 'c']) rollout.request(key, true);
  for (let pass = 0; pass < 5; pass++) for (const key of ['a', 'b']) rollout.report(key, 'moving');
  expect(rollout.request('c', true)).toBe(false);
  expect([rollout.moving, rollout.waiting]).toEqual([2, 1]);
});

test('releases the turn of an instance that needs no engine any more', () => {
  const rollout = opened(1);
  rollout.request('a', true);
  rollout.request('b', true);
  expect(rollout.report('a', 'settled')).toEqual(['b']);
});

test('grants no turn before all instances were reconciled, and counts those found moving', () => {
  const rollout = new Rollout(2);
  expect(rollout.request('a', true)).toBe(false);
  rollout.report('b', 'moving');
  expect(rollout.open()).toEqual(['a']);
  expect(rollout.request('a', true)).toBe(true);
  expect(rollout.request('c', true)).toBe(false);
});

test(
  'lets an instance that was broken before block the upgrade only for 5 minutes',
  inFakeTime(async (pass) => {
    const rollout = new Rollout(1);
    rollout.report('broken', 'moving');
    rollout.open();
    expect(rollout.request('a', true)).toBe(false);
    await pass(300_001);
    rollout.report('broken', 'moving');
    expect(rollout.request('a', true)).toBe(true);
    expect(rollout.request('b', true)).toBe(false);
  }),
);
