import { ManualClock } from '@gwk/test/support/clock';
import { RateLimitPause } from './rate-limit-pause.js';

test('pauses for 5 s, then twice as long up to 60 s, until a message is accepted', () => {
  const clock = new ManualClock();
  let ended = 0;
  const pause = new RateLimitPause(clock, () => (ended += 1));
  const lengths = Array.from({ length: 6 }, () => {
    const ms = pause.begin()!;
    // These answer messages that left before the pause.
    expect(pause.begin()).toBeNull();
    pause.reset();
    clock.advance(ms - 1);
    expect(pause.isActive).toBe(true);
    clock.advance(1);
    expect(pause.isActive).toBe(false);
    return ms;
  });
  expect(lengths).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  expect(ended).toBe(6);
  pause.reset();
  expect(pause.begin()).toBe(5_000);
});
