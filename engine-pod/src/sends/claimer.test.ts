import { setImmediate as turn } from 'node:timers/promises';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import { ManualClock } from '@gwk/test/support/clock';
import { Claimer, type ClaimerOptions } from './claimer.js';
import { Pacing } from './pacing.js';

const message = {} as ClaimedMessage;
let claimer: Claimer;
let clock: ManualClock;
beforeEach(() => {
  clock = new ManualClock(0);
});
afterEach(() => claimer.stop());

/** A claimer whose claims are answered by the test. */
function build(change: Partial<ClaimerOptions> = {}) {
  const claims: { id: string; limit: number; answer: (count: number) => Promise<void> }[] = [];
  claimer = new Claimer({
    pacing: new Pacing(60_000, 0),
    clock,
    idleClaimMs: 60_000,
    open: () => true,
    capacity: () => 10,
    claim: (id, limit) =>
      new Promise((resolve) => {
        const answer = async (count: number): Promise<void> => {
          resolve(Array.from({ length: count }, () => message));
          await turn();
        };
        claims.push({ id, limit, answer });
      }),
    accept: () => {},
    ...change,
  });
  return claims;
}

test('claims up to its capacity, and again at once while there is more', async () => {
  const claims = build();
  claimer.notify();
  expect(claims[0]!.limit).toBe(10);
  await claims[0]!.answer(10);
  expect(claims).toHaveLength(2);
  await claims[1]!.answer(3);
  expect(claims).toHaveLength(2);
  expect(claims[0]!.id).not.toBe(claims[1]!.id);
});

test('repeats the claim id after a refused claim, and counts its messages in the pacing', async () => {
  const asked: string[] = [];
  const pacing = new Pacing(10, 0);
  const claim = (id: string) => {
    asked.push(id);
    if (asked.length === 1) return Promise.reject(new Error('refused'));
    return Promise.resolve(asked.length === 2 ? [message, message] : []);
  };
  build({ claim, pacing, capacity: () => (asked.length === 0 ? 10 : 1) });
  claimer.notify();
  await turn();
  claimer.notify();
  await turn();
  expect(asked).toHaveLength(3);
  expect(asked[1]).toBe(asked[0]);
  expect(asked[2]).not.toBe(asked[0]);
  expect(pacing.available(0)).toBe(8);
});

test('makes one more claim for notifications during a claim', async () => {
  const claims = build();
  claimer.notify();
  claimer.notify();
  claimer.notify();
  expect(claims).toHaveLength(1);
  await claims[0]!.answer(0);
  expect(claims).toHaveLength(2);
  await claims[1]!.answer(0);
  expect(claims).toHaveLength(2);
});

test('resolves a notification when a claim that began after it is answered', async () => {
  const claims = build();
  claimer.notify();
  let resolved = false;
  void claimer.notifyAndWait().then(() => (resolved = true));
  await claims[0]!.answer(0);
  expect(resolved).toBe(false);
  await claims[1]!.answer(0);
  expect(resolved).toBe(true);
});

test('resolves a notification at once that cannot be served now, and remembers it', async () => {
  let open = false;
  const claims = build({ open: () => open });
  await claimer.notifyAndWait();
  expect(claims).toHaveLength(0);
  open = true;
  claimer.recheck();
  expect(claims).toHaveLength(1);
  await claims[0]!.answer(0);
});

test('claims no more than the pacing allows, and the rest when it does', async () => {
  const pacing = new Pacing(600, 0);
  pacing.take(598, 0);
  const claims = build({ pacing });
  claimer.notify();
  expect(claims[0]!.limit).toBe(2);
  await claims[0]!.answer(2);
  expect(claims).toHaveLength(1);
  clock.advance(99);
  expect(claims).toHaveLength(1);
  clock.advance(1);
  expect(claims).toHaveLength(2);
  await claims[1]!.answer(0);
});

test('returns tokens for messages that were not found', async () => {
  const pacing = new Pacing(60, 0);
  const claims = build({ pacing, capacity: () => 100 });
  claimer.notify();
  expect(pacing.available(0)).toBe(0);
  await claims[0]!.answer(1);
  expect(pacing.available(0)).toBe(59);
});

test('claims by itself when idle', async () => {
  const claims = build({ idleClaimMs: 100 });
  claimer.start();
  await claims[0]!.answer(0);
  clock.advance(89);
  expect(claims).toHaveLength(1);
  clock.advance(21);
  expect(claims).toHaveLength(2);
  // Stopped first: otherwise it would claim again during this answer, and get none.
  const stopped = claimer.stop();
  await claims[1]!.answer(0);
  await stopped;
});

test('claims no more once stopped, and waits for the claim in progress', async () => {
  const accepted: unknown[] = [];
  const claims = build({ accept: (messages) => accepted.push(...messages) });
  claimer.notify();
  const stopped = claimer.stop();
  claimer.notify();
  await claims[0]!.answer(10);
  await stopped;
  expect(accepted).toHaveLength(10);
  expect(claims).toHaveLength(1);
});

describe('messages that came with their notification', () => {
  test('take tokens of the pacing and places, as claimed ones do', async () => {
    let capacity = 10;
    build({ pacing: new Pacing(3, 0), capacity: () => capacity });
    expect(claimer.takeTokens(2)).toBe(true);
    expect(claimer.takeTokens(2)).toBe(false);
    capacity = 0;
    expect(claimer.takeTokens(1)).toBe(false);
    capacity = 1;
    expect(claimer.takeTokens(1)).toBe(true);
  });

  test('wait for a claim in progress, for earlier messages and for the connection', async () => {
    let isOpen = false;
    const claims = build({ open: () => isOpen });
    expect(claimer.takeTokens(1)).toBe(false);
    claimer.notify();
    isOpen = true;
    expect(claimer.takeTokens(1)).toBe(false);
    claimer.recheck();
    expect(claimer.takeTokens(1)).toBe(false);
    await claims[0]!.answer(0);
    expect(claimer.takeTokens(1)).toBe(true);
    await claimer.stop();
    expect(claimer.takeTokens(1)).toBe(false);
  });
});
