import { FollowerPause } from './follower-pause.js';

/** The length of the pause that begins `after` milliseconds without one. */
function createPauses(): (after: number) => number {
  const pause = new FollowerPause();
  let now = 0;
  return (after) => {
    now += after;
    expect(pause.isOver(now)).toBe(true);
    pause.begin(now);
    const began = now;
    for (let step = 0; step < 100 && !pause.isOver(now); step++) {
      pause.begin(now);
      now += 500;
    }
    return now - began;
  };
}

test('doubles up to half a minute', () => {
  const next = createPauses();
  const lengths = Array.from({ length: 7 }, () => next(2_000));
  expect(lengths).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
});

test('is short again after half a minute without one', () => {
  const next = createPauses();
  expect([next(0), next(29_500), next(30_000), next(0)]).toEqual([1_000, 2_000, 1_000, 2_000]);
});
