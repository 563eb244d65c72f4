import { Slots } from './slots.js';

const limits = { total: 10, perDestination: 3, slowMs: 1_000 };

test('an idle worker has room for all, half of it for doubtful destinations', () => {
  expect(new Slots(limits).room()).toEqual({ busy: new Map(), slow: [], most: 10, mostDoubtful: 5 });
});

test('calls take places, by destination, and give them back', () => {
  const slots = new Slots(limits);
  const [first, second, other] = [slots.take('a', false), slots.take('a', false), slots.take('b', true)];
  expect(slots.room()).toEqual({ busy: new Map([['a', 2], ['b', 1]]), slow: [], most: 7, mostDoubtful: 4 }); // prettier-ignore
  first(5);
  other(5);
  expect(slots.room()).toEqual({ busy: new Map([['a', 1]]), slow: [], most: 9, mostDoubtful: 5 });
  second(5);
  expect(slots.taken).toBe(0);
});

test('a destination that answered slowly is doubtful until it answers fast', () => {
  const slots = new Slots(limits);
  slots.take('a', false)(1_000);
  expect(slots.room().slow).toEqual(['a']);
  const again = slots.take('a', false);
  expect(slots.room().mostDoubtful).toBe(4);
  again(20);
  expect(slots.room()).toEqual({ busy: new Map(), slow: [], most: 10, mostDoubtful: 5 });
});

test('with one place in all there is one for a doubtful destination too', () => {
  expect(new Slots({ ...limits, total: 1 }).room().mostDoubtful).toBe(1);
});
