import { Slots } from './slots.js';

const limits = { total: 10, perEndpoint: 3, slowMs: 1_000 };
const fast = { latencyMs: 5, answered: true };

test('an idle worker has room for all, half of it for doubtful destinations', () => {
  expect(new Slots(limits).room()).toEqual({ busy: new Map(), slow: [], most: 10, mostDoubtful: 5 });
});

test('calls take places, by destination, and give them back', () => {
  const slots = new Slots(limits);
  const [first, second, other] = [slots.take('a', false), slots.take('a', false), slots.take('b', true)];
  expect(slots.room()).toEqual({ busy: new Map([['a', 2], ['b', 1]]), slow: [], most: 7, mostDoubtful: 4 }); // prettier-ignore
  first(fast);
  other(fast);
  expect(slots.room()).toEqual({ busy: new Map([['a', 1]]), slow: [], most: 9, mostDoubtful: 5 });
  second(fast);
  expect(slots.taken).toBe(0);
});

test('a destination that answered slowly is doubtful until it answers fast', () => {
  const slots = new Slots(limits);
  slots.take('a', false)({ latencyMs: 1_000, answered: true });
  expect(slots.room().slow).toEqual(['a']);
  const again = slots.take('a', false);
  expect(slots.room().mostDoubtful).toBe(4);
  again(fast);
  expect(slots.room()).toEqual({ busy: new Map(), slow: [], most: 10, mostDoubtful: 5 });
});

test('with one place in all there is one for a doubtful destination too', () => {
  expect(new Slots({ ...limits, total: 1 }).room().mostDoubtful).toBe(1);
});

describe('a destination that gave no answer', () => {
  const setUp = () => {
    let now = 0;
    const slots = new Slots(limits, () => now);
    return {
      slots,
      pass: (ms: number) => (now += ms),
      call: () => slots.take('a', true),
      /** How many calls a claim may begin. */
      open: () => limits.perEndpoint - (slots.room().busy.get('a') ?? 0),
    };
  };
  const silence = { latencyMs: 1, answered: false };

  test('is left alone for a while, then called once at a time', () => {
    const { call, open, pass } = setUp();
    call()(silence);
    expect(open()).toBe(0);
    pass(99);
    expect(open()).toBe(0);
    pass(1);
    expect(open()).toBe(1);
    call();
    expect(open()).toBe(0);
  });

  test('is left alone for twice as long each time, up to five seconds', () => {
    const { call, open, pass } = setUp();
    const rests: number[] = [];
    for (let count = 0; count < 8; count++) {
      call()(silence);
      let rest = 0;
      for (; open() === 0; rest += 100) pass(100);
      rests.push(rest);
    }
    expect(rests).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  });

  test('to several calls of one moment, did so once', () => {
    const { call, open, pass } = setUp();
    for (const end of [call(), call(), call()]) end(silence);
    pass(100);
    expect(open()).toBe(1);
  });

  test('has all its places again with the first answer, whatever that is', () => {
    const { call, open, pass } = setUp();
    call()(silence);
    pass(100);
    call()(fast);
    expect(open()).toBe(3);
  });

  test('is neither silent nor back by a call that says nothing of it', () => {
    const { call, open, pass } = setUp();
    call()({ latencyMs: 1, answered: null });
    expect(open()).toBe(3);
    call()(silence);
    pass(100);
    call()({ latencyMs: 1, answered: null });
    expect(open()).toBe(1);
  });

  test('delays no other', () => {
    const { call, slots } = setUp();
    call()(silence);
    expect(slots.room()).toMatchObject({ most: 10, mostDoubtful: 5 });
    expect(slots.room().busy.has('b')).toBe(false);
  });
});
