import { setImmediate as turn } from 'node:timers/promises';
import type { EngineResponse } from '@gwk/core/protocol/engine';
import { ManualClock } from '@gwk/test/support/clock';
import { Lease } from './lease.js';
import type { InternalApiClient } from './client.js';

const LEASE_MS = 45_000;
/** The socket closes so long before the end of the lease. */
const CLOSE_AT_MS = 40_000;
const RENEW_MS = 10_000;

let clock: ManualClock;
let lease: Lease;
let mode: 'answer' | 'silent' | 'held';
/** When renewals were asked for. */
let asked: number[];
let answerHeld: () => void;
let told: string[];

beforeEach(() => {
  clock = new ManualClock(0);
  [mode, asked, told] = ['answer', [], []];
  const port = { closed: false, call: renew as unknown as InternalApiClient['call'] };
  lease = new Lease({
    port,
    term: { from: 0, leaseMs: LEASE_MS },
    renewMs: RENEW_MS,
    isConnected: () => true,
    events: {
      unconfirmed: () => told.push(`unconfirmed at ${clock.now()}`),
      confirmed: () => told.push('confirmed'),
      renewed: () => told.push('renewed'),
    },
    clock,
  });
  lease.start();
});
afterEach(() => lease.stop());

function renew(_route: 'renew', _body: object, timeoutMs: number): Promise<EngineResponse<'renew'>> {
  asked.push(clock.now());
  const answer = { lease_ms: LEASE_MS } as EngineResponse<'renew'>;
  if (mode === 'answer') return Promise.resolve(answer);
  if (mode === 'held') return new Promise((resolve) => (answerHeld = () => resolve(answer)));
  return new Promise((_, reject) => clock.after(timeoutMs, () => reject(new Error('no answer'))));
}

/** By steps, so that what follows an answer happens between them. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    clock.advance(100);
    await turn();
  }
}

test('is renewed a little more often than asked for, for as long as it is answered', async () => {
  await pass(100_000);
  expect(asked.length).toBeGreaterThanOrEqual(100_000 / RENEW_MS);
  expect(asked.length).toBeLessThanOrEqual(100_000 / (0.8 * RENEW_MS) + 1);
  expect(told).toEqual(asked.map(() => 'renewed'));
  expect([lease.valid, lease.unexpired]).toEqual([true, true]);
});

test('unanswered, it costs the socket shortly before its end and not earlier; a later answer gives it back', async () => {
  mode = 'silent';
  await pass(CLOSE_AT_MS - 100);
  expect(told).toEqual([]);
  expect([lease.valid, lease.msLeft]).toEqual([true, 100]);
  // It is asked for sooner, as often as fits.
  expect(asked.length).toBeGreaterThan(4);
  await pass(100);
  expect(told).toEqual([`unconfirmed at ${CLOSE_AT_MS}`]);
  expect([lease.valid, lease.unexpired, lease.msLeft]).toEqual([false, false, 0]);
  await pass(60_000);
  expect(told).toHaveLength(1);
  mode = 'answer';
  await pass(RENEW_MS);
  expect(told.slice(1, 3)).toEqual(['confirmed', 'renewed']);
  expect(lease.valid).toBe(true);
});

test('unanswered for less than its time, it costs nothing', async () => {
  await pass(RENEW_MS);
  mode = 'silent';
  await pass(30_000);
  mode = 'answer';
  await pass(LEASE_MS);
  expect(new Set(told)).toEqual(new Set(['renewed']));
});

test('counts from when it was asked for, however late the answer comes', async () => {
  mode = 'held';
  await pass(RENEW_MS);
  const [from] = asked;
  await pass(20_000);
  answerHeld();
  await turn();
  expect(lease.msLeft).toBe(from! + CLOSE_AT_MS - clock.now());
});

test('an answer that took longer than the lease confirms nothing', async () => {
  mode = 'held';
  await pass(RENEW_MS + LEASE_MS);
  expect(told).toEqual([`unconfirmed at ${CLOSE_AT_MS}`]);
  answerHeld();
  await turn();
  expect(told).not.toContain('confirmed');
  expect(lease.valid).toBe(false);
});

test('of a process that was stopped past its end allows nothing, before any timer rings', () => {
  clock.advanceSilently(CLOSE_AT_MS - 1);
  expect(lease.valid).toBe(true);
  clock.advanceSilently(1);
  expect([lease.valid, lease.unexpired]).toEqual([false, false]);
  expect(told).toEqual([]);
});

test('stopped, it is asked for no more and allows nothing', async () => {
  await pass(100);
  lease.stop();
  const before = asked.length;
  await pass(2 * LEASE_MS);
  expect(asked).toHaveLength(before);
  expect([lease.valid, lease.unexpired]).toEqual([false, false]);
});

test('terms that have changed are asked for at once, and once more where a renewal is under way', async () => {
  await pass(100);
  lease.renewNow();
  await turn();
  expect(asked).toHaveLength(1);
  mode = 'held';
  for (let times = 0; times < 3; times++) lease.renewNow();
  expect(asked).toHaveLength(2);
  mode = 'answer';
  answerHeld();
  await pass(200);
  expect(asked).toHaveLength(3);
  await pass(0.7 * RENEW_MS);
  expect(asked).toHaveLength(3);
});
