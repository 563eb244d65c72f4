import { Slots } from './slots.js';

const limits = { total: 10, perEndpoint: 3, slowMs: 1_000 };
const fast = { latencyMs: 5, answered: true };

test('an idle worker offers half of its slots to unhealthy endpoints', () => {
  expect(new Slots(limits).capacity()).toEqual({
    busy: new Map(),
    slow: [],
    maxCalls: 10,
    maxUnhealthyCalls: 5,
  });
});

test('calls take slots per endpoint and release them', () => {
  const slots = new Slots(limits);
  const [first, second, other] = [slots.take('a', false), slots.take('a', false), slots.take('b', true)];
  expect(slots.capacity()).toEqual({ busy: new Map([['a', 2], ['b', 1]]), slow: [], maxCalls: 7, maxUnhealthyCalls: 4 }); // prettier-ignore
  first(fast);
  other(fast);
  expect(slots.capacity()).toEqual({
    busy: new Map([['a', 1]]),
    slow: [],
    maxCalls: 9,
    maxUnhealthyCalls: 5,
  });
  second(fast);
  expect(slots.taken).toBe(0);
});

test('a slow endpoint is unhealthy until it answers fast', () => {
  const slots = new Slots(limits);
  slots.take('a', false)({ latencyMs: 1_000, answered: true });
  expect(slots.capacity().slow).toEqual(['a']);
  const again = slots.take('a', false);
  expect(slots.capacity().maxUnhealthyCalls).toBe(4);
  again(fast);
  expect(slots.capacity()).toEqual({ busy: new Map(), slow: [], maxCalls: 10, maxUnhealthyCalls: 5 });
});

test('a single slot is open to unhealthy endpoints', () => {
  expect(new Slots({ ...limits, total: 1 }).capacity().maxUnhealthyCalls).toBe(1);
});

describe('an endpoint that did not answer', () => {
  const setUp = () => {
    let now = 0;
    const slots = new Slots(limits, () => now);
    return {
      slots,
      advance: (ms: number) => (now += ms),
      call: () => slots.take('a', true),
      /** Calls that a claim may start. */
      allowed: () => limits.perEndpoint - (slots.capacity().busy.get('a') ?? 0),
    };
  };
  const noAnswer = { latencyMs: 1, answered: false };

  test('is not called during the backoff, then with one call at a time', () => {
    const { call, allowed, advance } = setUp();
    call()(noAnswer);
    expect(allowed()).toBe(0);
    advance(99);
    expect(allowed()).toBe(0);
    advance(1);
    expect(allowed()).toBe(1);
    call();
    expect(allowed()).toBe(0);
  });

  test('doubles the backoff up to 5 s', () => {
    const { call, allowed, advance } = setUp();
    const delays: number[] = [];
    for (let count = 0; count < 8; count++) {
      call()(noAnswer);
      let delay = 0;
      for (; allowed() === 0; delay += 100) advance(100);
      delays.push(delay);
    }
    expect(delays).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  });

  test('counts unanswered concurrent calls once', () => {
    const { call, allowed, advance } = setUp();
    for (const end of [call(), call(), call()]) end(noAnswer);
    advance(100);
    expect(allowed()).toBe(1);
  });

  test('gets all its slots back with the first answer', () => {
    const { call, allowed, advance } = setUp();
    call()(noAnswer);
    advance(100);
    call()(fast);
    expect(allowed()).toBe(3);
  });

  test('is not affected by a call that says nothing about it', () => {
    const { call, allowed, advance } = setUp();
    call()({ latencyMs: 1, answered: null });
    expect(allowed()).toBe(3);
    call()(noAnswer);
    advance(100);
    call()({ latencyMs: 1, answered: null });
    expect(allowed()).toBe(1);
  });

  test('does not delay other endpoints', () => {
    const { call, slots } = setUp();
    call()(noAnswer);
    expect(slots.capacity()).toMatchObject({ maxCalls: 10, maxUnhealthyCalls: 5 });
    expect(slots.capacity().busy.has('b')).toBe(false);
  });
});
