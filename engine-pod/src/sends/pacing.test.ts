import { Pacing } from './pacing.js';

/** Events of a bucket in order: [at, action, tokens available afterwards]. */
type Act = { take: number } | { rate: number } | { giveBack: number } | 'wait';

test.each<[string, number, [number, Act, number][]]>([
  ['a bucket starts with one minute of messages', 60, [[0, 'wait', 60]]],
  ['refills evenly', 60, [[0, { take: 60 }, 0], [999, 'wait', 0], [1_000, 'wait', 1], [30_000, 'wait', 30]]], // prettier-ignore
  [
    "never holds more than one minute's worth",
    60,
    [
      [0, { take: 10 }, 50],
      [600_000, 'wait', 60],
    ],
  ],
  [
    'a slow rate counts fractions of a message',
    1,
    [
      [0, { take: 1 }, 0],
      [59_000, 'wait', 0],
      [60_000, 'wait', 1],
    ],
  ],
  ['a higher rate fills faster from now on, and gives nothing at once', 60, [[0, { take: 60 }, 0], [0, { rate: 6_000 }, 0], [1_000, 'wait', 100]]], // prettier-ignore
  [
    'a lower rate removes excess tokens',
    6_000,
    [
      [0, { rate: 60 }, 60],
      [1_000, 'wait', 60],
    ],
  ],
  ['returns unused tokens', 60, [[0, { take: 5 }, 55], [0, { giveBack: 5 }, 60], [0, { giveBack: 5 }, 60]]], // prettier-ignore
  ['adds nothing when the clock pauses or goes back', 60, [[5_000, { take: 60 }, 0], [5_000, 'wait', 0], [1_000, 'wait', 0], [6_000, 'wait', 1]]], // prettier-ignore
])('%s', (_case, rate, acts) => {
  const pacing = new Pacing(rate, 0);
  for (const [at, act, available] of acts) {
    if (act !== 'wait') {
      if ('take' in act) pacing.take(act.take, at);
      if ('rate' in act) pacing.setRate(act.rate, at);
      if ('giveBack' in act) pacing.giveBack(act.giveBack);
    }
    expect(pacing.available(at)).toBe(available);
  }
});

test.each([
  ['a message that may leave now waits for nothing', 60, 59, 0],
  ['at 60 a minute the next may leave in a second', 60, 60, 1_000],
  ['at 6000 a minute in 10 ms', 6_000, 6_000, 10],
  ['at 1 a minute in a minute', 1, 1, 60_000],
])('%s', (_case, rate, taken, delay) => {
  const pacing = new Pacing(rate, 0);
  pacing.take(taken, 0);
  expect(pacing.delay(0)).toBe(delay);
  expect(pacing.available(delay)).toBeGreaterThanOrEqual(1);
});

test('sends at most the rate plus one burst in an hour', () => {
  const pacing = new Pacing(60, 0);
  let left = 0;
  for (let at = 0; at <= 3_600_000; at += 137) {
    const now = pacing.available(at);
    pacing.take(now, at);
    left += now;
  }
  expect(left).toBeGreaterThanOrEqual(60 + 3_600 - 1);
  expect(left).toBeLessThanOrEqual(60 + 3_600);
});
