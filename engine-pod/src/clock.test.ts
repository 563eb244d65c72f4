import { rereadAfter } from './clock.js';

test('reads a clock again after 5 ms, and then sees that the machine slept', () => {
  let [uptime, running, reads] = [1_000, 50, 0];
  const read = () => {
    reads++;
    return uptime;
  };
  const now = rereadAfter(5, read, () => running);
  expect(now()).toBe(1_000);
  uptime += 60_000;
  running += 4;
  expect([now(), now(), reads]).toEqual([1_000, 1_000, 1]);
  running += 1;
  expect([now(), reads]).toEqual([61_000, 2]);
});
