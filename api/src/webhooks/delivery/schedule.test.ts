import {
  decideDisable,
  MAX_ATTEMPTS,
  nextAttempt,
  parseRetryAfter,
  pollDelay,
  type Attempt,
} from './schedule.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const now = new Date('2026-05-04T12:00:00Z');
const ago = (ms: number): Date => new Date(now.getTime() - ms);

const first: Attempt = { earlierAttempts: 0, statusCode: 500, retryAfterMs: null, enabled: true };
const retry = (delayMs: number) => ({ result: 'retry', delayMs });
const failed = { result: 'failed', delayMs: null };
const succeeded = { result: 'succeeded', delayMs: null };

describe('result of an attempt', () => {
  test.each<[string, Partial<Attempt> & { random?: number }, object]>([
    ['200 is success', { statusCode: 200 }, succeeded],
    ['204 is success', { statusCode: 204 }, succeeded],
    ['299 is success', { statusCode: 299 }, succeeded],
    ['2xx from a disabled endpoint is success', { statusCode: 200, enabled: false }, succeeded],
    ['a redirect is a failure', { statusCode: 302 }, retry(5 * SECOND)],
    ['304 is a failure', { statusCode: 304 }, retry(5 * SECOND)],
    ['retries 400', { statusCode: 400 }, retry(5 * SECOND)],
    ['retries without an answer', { statusCode: null }, retry(5 * SECOND)],
    ['second retry after 5 minutes', { earlierAttempts: 1 }, retry(5 * MINUTE)],
    ['third retry after 30 minutes', { earlierAttempts: 2 }, retry(30 * MINUTE)],
    ['fourth retry after 2 hours', { earlierAttempts: 3 }, retry(2 * HOUR)],
    ['fifth retry after 5 hours', { earlierAttempts: 4 }, retry(5 * HOUR)],
    ['sixth retry after 10 hours', { earlierAttempts: 5 }, retry(10 * HOUR)],
    ['seventh retry after 10 hours', { earlierAttempts: 6 }, retry(10 * HOUR)],
    ['fails after the eighth attempt', { earlierAttempts: 7 }, failed],
    ['fails after more than eight attempts', { earlierAttempts: 20 }, failed],
    ['410 fails at once', { statusCode: 410 }, failed],
    ['410 with Retry-After fails at once', { statusCode: 410, retryAfterMs: MINUTE }, failed],
    ['a disabled endpoint gets one attempt', { enabled: false }, failed],
    ['jitter delays the retry', { random: 1 }, retry(6 * SECOND)],
    ['jitter is proportional to the delay', { earlierAttempts: 5, random: 0.5 }, retry(11 * HOUR)],
    ['uses a Retry-After later than the schedule', { statusCode: 429, retryAfterMs: MINUTE }, retry(MINUTE)],
    [
      'uses the schedule if it is later than Retry-After',
      { earlierAttempts: 1, retryAfterMs: MINUTE },
      retry(5 * MINUTE),
    ],
    ['caps Retry-After at one day', { statusCode: 503, retryAfterMs: 30 * DAY }, retry(DAY)],
  ])('%s', (_sentence, { random = 0, ...attempt }, expected) => {
    expect(nextAttempt({ ...first, ...attempt }, random)).toEqual(expected);
  });

  test('makes eight attempts', () => expect(MAX_ATTEMPTS).toBe(8));
});

describe('Retry-After', () => {
  test.each<[string, string | null, number | null]>([
    ['absent', null, null],
    ['seconds', '120', 2 * MINUTE],
    ['seconds with spaces', ' 7 ', 7 * SECOND],
    ['zero', '0', null],
    ['negative', '-5', null],
    ['fraction', '1.5', null],
    ['date', 'Mon, 04 May 2026 12:00:30 GMT', 30 * SECOND],
    ['date in the past', 'Mon, 04 May 2026 11:00:00 GMT', null],
    ['date in RFC 850 format', 'Monday, 04-May-26 12:01:00 GMT', MINUTE],
    ['not a date', 'tomorrow', null],
    ['empty', '', null],
  ])('%s', (_sentence, header, expected) => {
    expect(parseRetryAfter(header, now)).toBe(expected);
  });
});

describe('decides whether to disable an endpoint', () => {
  const health = (failingSince: Date | null, lastFailedAt: Date | null = null) => ({
    failingSince,
    lastFailedAt,
  });
  test.each<[string, number | null, ReturnType<typeof health>, string | null]>([
    ['first failure', 500, health(null), null],
    ['failing for a day', 500, health(ago(DAY), ago(MINUTE)), null],
    ['failing for 1 ms less than 5 days', null, health(ago(5 * DAY - 1), ago(MINUTE)), null],
    ['failing for 5 days', null, health(ago(5 * DAY), ago(MINUTE)), 'failing'],
    ['failing for 6 days, last 10 hours ago', 500, health(ago(6 * DAY), ago(10 * HOUR)), 'failing'],
    ['a failure 5 days ago and one now', 500, health(ago(6 * DAY), ago(5 * DAY)), null],
    ['failing for 6 days, last failure unknown', 500, health(ago(6 * DAY)), 'failing'],
    ['answers 410', 410, health(null), 'gone'],
    ['answers 410 after 6 days', 410, health(ago(6 * DAY), ago(MINUTE)), 'gone'],
  ])('%s', (_sentence, statusCode, endpoint, expected) => {
    expect(decideDisable(statusCode, endpoint, now)).toBe(expected);
  });
});

test.each([
  ['1 ms', 1, 100],
  ['10 ms', 10, 100],
  ['20 ms', 20, 200],
  ['80 ms', 80, 500],
])('after a poll of %s, waits for ten times that, between 100 and 500 ms', (_, pollMs, delayMs) => {
  expect(pollDelay(pollMs)).toBe(delayMs);
});
