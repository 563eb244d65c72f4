import {
  judgeDestination,
  MAX_ATTEMPTS,
  nextAttempt,
  parseRetryAfter,
  restAfter,
  type Attempt,
} from './schedule.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const now = new Date('2026-05-04T12:00:00Z');
const ago = (ms: number): Date => new Date(now.getTime() - ms);

const first: Attempt = { earlierAttempts: 0, statusCode: 500, retryAfterMs: null, enabled: true, random: 0 };
const retry = (delayMs: number) => ({ verdict: 'retry', delayMs });
const failed = { verdict: 'failed' };
const succeeded = { verdict: 'succeeded' };

describe('what becomes of a delivery after an attempt', () => {
  test.each<[string, Partial<Attempt>, object]>([
    ['200 is success', { statusCode: 200 }, succeeded],
    ['204 is success', { statusCode: 204 }, succeeded],
    ['299 is success', { statusCode: 299 }, succeeded],
    [
      'an answer to a disabled destination that asked for it is success',
      { statusCode: 200, enabled: false },
      succeeded,
    ],
    ['a redirect is a failure', { statusCode: 302 }, retry(5 * SECOND)],
    ['304 is a failure', { statusCode: 304 }, retry(5 * SECOND)],
    ['400 is tried again: destinations get mended', { statusCode: 400 }, retry(5 * SECOND)],
    ['no answer is tried again', { statusCode: null }, retry(5 * SECOND)],
    ['the second attempt waits 5 minutes', { earlierAttempts: 1 }, retry(5 * MINUTE)],
    ['the third attempt waits half an hour', { earlierAttempts: 2 }, retry(30 * MINUTE)],
    ['the fourth attempt waits 2 hours', { earlierAttempts: 3 }, retry(2 * HOUR)],
    ['the fifth attempt waits 5 hours', { earlierAttempts: 4 }, retry(5 * HOUR)],
    ['the sixth attempt waits 10 hours', { earlierAttempts: 5 }, retry(10 * HOUR)],
    ['the seventh attempt waits 10 hours', { earlierAttempts: 6 }, retry(10 * HOUR)],
    ['the eighth is the last', { earlierAttempts: 7 }, failed],
    ['there is none after the last', { earlierAttempts: 20 }, failed],
    ['410 fails at once', { statusCode: 410 }, failed],
    ['410 fails at once whatever it asks for', { statusCode: 410, retryAfterMs: MINUTE }, failed],
    ['a disabled destination is tried once', { enabled: false }, failed],
    ['jitter makes it later', { random: 1 }, retry(6 * SECOND)],
    ['jitter makes it later in proportion', { earlierAttempts: 5, random: 0.5 }, retry(11 * HOUR)],
    ['Retry-After counts where it is later', { statusCode: 429, retryAfterMs: MINUTE }, retry(MINUTE)],
    [
      'the schedule counts where it is later',
      { earlierAttempts: 1, retryAfterMs: MINUTE },
      retry(5 * MINUTE),
    ],
    ['Retry-After is honoured up to a day', { statusCode: 503, retryAfterMs: 30 * DAY }, retry(DAY)],
  ])('%s', (_sentence, attempt, expected) => {
    expect(nextAttempt({ ...first, ...attempt })).toEqual(expected);
  });

  test('there are eight attempts', () => expect(MAX_ATTEMPTS).toBe(8));
});

describe('Retry-After', () => {
  test.each<[string, string | null, number | null]>([
    ['is absent', null, null],
    ['is a number of seconds', '120', 2 * MINUTE],
    ['has spaces around it', ' 7 ', 7 * SECOND],
    ['is zero', '0', null],
    ['is negative', '-5', null],
    ['is a fraction', '1.5', null],
    ['is a date', 'Mon, 04 May 2026 12:00:30 GMT', 30 * SECOND],
    ['is a date gone by', 'Mon, 04 May 2026 11:00:00 GMT', null],
    ['is a date in an old form', 'Monday, 04-May-26 12:01:00 GMT', MINUTE],
    ['is no date', 'tomorrow', null],
    ['is empty', '', null],
  ])('%s', (_sentence, header, expected) => {
    expect(parseRetryAfter(header, now)).toBe(expected);
  });
});

describe('whether a destination is given up', () => {
  const health = (failingSince: Date | null, lastFailedAt: Date | null = null) => ({
    failingSince,
    lastFailedAt,
  });
  test.each<[string, number | null, ReturnType<typeof health>, string | null]>([
    ['its first failure', 500, health(null), null],
    ['failing for a day', 500, health(ago(DAY), ago(MINUTE)), null],
    ['failing for a moment less than 5 days', null, health(ago(5 * DAY - 1), ago(MINUTE)), null],
    ['failing for 5 days', null, health(ago(5 * DAY), ago(MINUTE)), 'failing'],
    ['failing for 5 days, the last time 10 hours ago', 500, health(ago(6 * DAY), ago(10 * HOUR)), 'failing'],
    ['a failure long ago and one today', 500, health(ago(6 * DAY), ago(5 * DAY)), null],
    ['failing for 5 days, its last failure unknown', 500, health(ago(6 * DAY)), 'failing'],
    ['it says that it is gone', 410, health(null), 'gone'],
    ['it says that it is gone after 5 days', 410, health(ago(6 * DAY), ago(MINUTE)), 'gone'],
  ])('%s', (_sentence, statusCode, destination, expected) => {
    expect(judgeDestination(statusCode, destination, now)).toBe(expected);
  });
});

test.each([
  ['quick: so often that a delivery goes out at once', 1, 100],
  ['that takes a tenth of that', 10, 100],
  ['slower: it takes a tenth of the time', 20, 200],
  ['very slow: deliveries wait no longer than half a second', 80, 500],
])('the queue is looked at again after a look that is %s', (_, lookMs, restMs) => {
  expect(restAfter(lookMs)).toBe(restMs);
});
