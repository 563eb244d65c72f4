import { ConnectionError, createApiError } from './errors.js';
import { planRetry } from './retry.js';

const answer = (status: number, code: string, retryAfter?: string) =>
  createApiError(
    { type: `http://docs/problems/${code}` },
    new Response(null, { status, headers: retryAfter === undefined ? {} : { 'Retry-After': retryAfter } }),
  );

test.each([
  ['a broken connection', new ConnectionError(), true, 0.5],
  ['a broken connection of a change without key', new ConnectionError(), false, null],
  ['a 503', answer(503, 'engine-unavailable'), true, 0.5],
  ['a 503 of a change without key', answer(503, 'engine-unavailable'), false, 0.5],
  ['a 500 of a change without key', answer(500, 'internal-error'), false, null],
  ['a 503 with Retry-After', answer(503, 'engine-unavailable', '5'), true, 5],
  ['a 429 of a change without key', answer(429, 'rate-limited', '7'), false, 7],
  ['a limit of a day', answer(429, 'policy-new-contacts-limit', '7200'), true, null],
  ['a request in progress', answer(409, 'idempotency-in-progress', '1'), true, 1],
  ['another conflict', answer(409, 'message-sending'), true, null],
  ['a failed pairing', answer(502, 'pairing-failed'), true, null],
  ['a wrong request', answer(422, 'validation-error'), true, null],
  ['another error', new TypeError('fault'), true, null],
])('after %s', (_, error, repeatable, seconds) => {
  expect(planRetry(error, { repeatable, attempt: 1, random: () => 1 })).toBe(seconds);
});

test.each([
  [7, '7', 7],
  [6, '7', null],
  [0, undefined, 0.5],
])('of a client that waits up to %i s, after a 429 with %s s', (maxWait, told, seconds) => {
  const error = answer(429, 'rate-limited', told);
  expect(planRetry(error, { repeatable: true, attempt: 1, maxWait, random: () => 1 })).toBe(seconds);
});

test('doubles the wait up to 8 s', () => {
  const waits = [1, 2, 3, 4, 5, 6].map((attempt) =>
    planRetry(new ConnectionError(), { repeatable: true, attempt, random: () => 1 }),
  );
  expect(waits).toEqual([0.5, 1, 2, 4, 8, 8]);
});
