import { setImmediate as turn } from 'node:timers/promises';
import type { EngineResponse } from '@gwk/core/protocol/engine';
import { InternalApiUnreachable } from '@gwk/core/protocol/internal-client';
import { ManualClock } from '@gwk/test/support/clock';
import { closeAt, closeMargin, Lease, mayActAt, renewDelay, renewTimeout } from './lease.js';
import type { InternalApiClient } from './client.js';

const LEASE_MS = 45_000;
/** The socket closes this long after the start of the lease. */
const CLOSE_AT_MS = 40_000;
const RENEW_MS = 10_000;

let clock: ManualClock;
let lease: Lease;
let mode: 'answer' | 'silent' | 'held' | { retryAfterMs: number };
/** Times at which renewals were requested. */
let renewals: number[];
let answerHeld: () => void;
let events: string[];

beforeEach(() => {
  clock = new ManualClock(0);
  [mode, renewals, events] = ['answer', [], []];
  const api = { closed: false, call: renew as unknown as InternalApiClient['call'] };
  lease = new Lease({
    api,
    term: { from: 0, leaseMs: LEASE_MS },
    renewMs: RENEW_MS,
    isConnected: () => true,
    events: {
      unconfirmed: () => events.push(`unconfirmed at ${clock.now()}`),
      confirmed: () => events.push('confirmed'),
      renewed: () => events.push('renewed'),
    },
    clock,
  });
  lease.start();
});
afterEach(() => lease.stop());

function renew(_route: 'renew', _body: object, timeoutMs: number): Promise<EngineResponse<'renew'>> {
  renewals.push(clock.now());
  const answer = { lease_ms: LEASE_MS } as EngineResponse<'renew'>;
  if (mode === 'answer') return Promise.resolve(answer);
  if (mode === 'held') return new Promise((resolve) => (answerHeld = () => resolve(answer)));
  if (mode !== 'silent') return Promise.reject(new InternalApiUnreachable('refused', mode.retryAfterMs));
  return new Promise((_, reject) => clock.after(timeoutMs, () => reject(new Error('no answer'))));
}

/** In steps, so that effects of an answer happen in between. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    clock.advance(100);
    await turn();
  }
}

test('is renewed slightly more often than configured while it is answered', async () => {
  await pass(100_000);
  expect(renewals.length).toBeGreaterThanOrEqual(100_000 / RENEW_MS);
  expect(renewals.length).toBeLessThanOrEqual(100_000 / (0.8 * RENEW_MS) + 1);
  expect(events).toEqual(renewals.map(() => 'renewed'));
  expect([lease.valid, lease.unexpired]).toEqual([true, true]);
});

test('pauses the socket shortly before the end when unanswered; a later answer resumes it', async () => {
  mode = 'silent';
  await pass(CLOSE_AT_MS - 100);
  expect(events).toEqual([]);
  expect([lease.valid, lease.msLeft]).toEqual([true, 100]);
  // Retries come sooner, as many as fit.
  expect(renewals.length).toBeGreaterThan(4);
  await pass(100);
  expect(events).toEqual([`unconfirmed at ${CLOSE_AT_MS}`]);
  expect([lease.valid, lease.unexpired, lease.msLeft]).toEqual([false, false, 0]);
  await pass(60_000);
  expect(events).toHaveLength(1);
  mode = 'answer';
  await pass(RENEW_MS);
  expect(events.slice(1, 3)).toEqual(['confirmed', 'renewed']);
  expect(lease.valid).toBe(true);
});

test('changes nothing when unanswered for less than its duration', async () => {
  await pass(RENEW_MS);
  mode = 'silent';
  await pass(30_000);
  mode = 'answer';
  await pass(LEASE_MS);
  expect(new Set(events)).toEqual(new Set(['renewed']));
});

test.each([
  ['when the API asks', 3_000, 3_000],
  ['at the latest after the interval', 60_000, RENEW_MS],
])('a refused renewal is repeated %s', async (_, retryAfterMs, expected) => {
  await pass(100);
  mode = { retryAfterMs };
  void lease.renewNow();
  await turn();
  await pass(2 * RENEW_MS);
  const [first, second] = renewals;
  expect(second! - first!).toBe(expected);
});

test('counts from the time of the request, however late the answer comes', async () => {
  mode = 'held';
  await pass(RENEW_MS);
  const [from] = renewals;
  await pass(20_000);
  answerHeld();
  await turn();
  expect(lease.msLeft).toBe(from! + CLOSE_AT_MS - clock.now());
});

test('ignores an answer that took longer than the lease', async () => {
  mode = 'held';
  await pass(RENEW_MS + LEASE_MS);
  expect(events).toEqual([`unconfirmed at ${CLOSE_AT_MS}`]);
  answerHeld();
  await turn();
  expect(events).not.toContain('confirmed');
  expect(lease.valid).toBe(false);
});

test('allows nothing after its process was stopped past its end, before any timer fires', () => {
  clock.advanceSilently(CLOSE_AT_MS - 1);
  expect(lease.valid).toBe(true);
  clock.advanceSilently(1);
  expect([lease.valid, lease.unexpired]).toEqual([false, false]);
  expect(events).toEqual([]);
});

test('is not renewed and allows nothing once stopped', async () => {
  await pass(100);
  lease.stop();
  const before = renewals.length;
  await pass(2 * LEASE_MS);
  expect(renewals).toHaveLength(before);
  expect([lease.valid, lease.unexpired]).toEqual([false, false]);
});

test('a request for changed terms is answered once they hold, or the lease ends', async () => {
  const request = (name: string) => void lease.renewNow().then(() => events.push(name));
  mode = 'held';
  await pass(RENEW_MS);
  request('during a renewal');
  answerHeld();
  await turn();
  expect(events).toEqual(['renewed']);
  await pass(100);
  expect(renewals).toHaveLength(2);
  answerHeld();
  await turn();
  expect(events).toEqual(['renewed', 'renewed', 'during a renewal']);
  request('at the end');
  lease.stop();
  request('after it');
  answerHeld();
  await turn();
  expect(events.slice(3).toSorted()).toEqual(['after it', 'at the end']);
});

test('requests changed terms at once, and again when a renewal is in progress', async () => {
  await pass(100);
  void lease.renewNow();
  await turn();
  expect(renewals).toHaveLength(1);
  mode = 'held';
  for (let times = 0; times < 3; times++) void lease.renewNow();
  expect(renewals).toHaveLength(2);
  mode = 'answer';
  answerHeld();
  await pass(200);
  expect(renewals).toHaveLength(3);
  await pass(0.7 * RENEW_MS);
  expect(renewals).toHaveLength(3);
});

describe('the times of a lease', () => {
  test.each([
    ['a lease of 45 s', 45_000, 5_000],
    ['a longer one', 600_000, 5_000],
    ['a short one', 2_700, 300],
  ])('%s is left before its end', (_case, leaseMs, margin) => {
    expect(closeMargin(leaseMs)).toBe(margin);
  });

  test.each([
    ['right after the request was sent', 1_000, true],
    ['at the last moment', 1_000 + 40_000 - 1, true],
    ['five seconds before the end', 1_000 + 40_000, false],
    ['after the end', 1_000 + 45_000, false],
  ])('a lease of 45 s allows to act %s: %#', (_case, now, allowed) => {
    const term = { from: 1_000, leaseMs: 45_000 };
    expect(closeAt(term)).toBe(41_000);
    expect(mayActAt(term, now)).toBe(allowed);
  });

  test.each([
    ['an answered renewal is followed by the next in its time', 10_000, 0, [8_000, 10_000]],
    ['an unanswered one is repeated soon', 10_000, 1, [1_600, 2_000]],
    ['but never later than it would have come anyway', 500, 3, [400, 500]],
  ])('%s', (_case, renewMs, unanswered, [least, most]) => {
    expect(renewDelay(renewMs, unanswered, 0)).toBe(least);
    expect(renewDelay(renewMs, unanswered, 1)).toBe(most);
  });

  test('several renewals fit between the first unanswered one and the close of the socket', () => {
    for (const [leaseMs, renewMs] of [
      [45_000, 10_000],
      [3_000, 500],
    ] as const) {
      const each = renewTimeout(leaseMs) + renewDelay(renewMs, 1, 1);
      expect((closeAt({ from: 0, leaseMs }) - renewMs) / each).toBeGreaterThan(2);
    }
  });
});
