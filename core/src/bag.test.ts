import { Bag } from './bag.js';

test('what is taken out is gone, whatever its place, and everything else stays', () => {
  const bag = new Bag<number>();
  const entries = [0, 1, 2, 3, 4].map((item) => bag.add(item));
  for (const [taken, left] of [
    [1, [0, 2, 3, 4]],
    [4, [0, 2, 3]],
    [0, [2, 3]],
    [3, [2]],
    [2, []],
  ] as const) {
    bag.delete(entries[taken]!);
    expect(bag.items.sort()).toEqual(left);
    expect(bag.size).toBe(left.length);
  }
});

test('taking out twice takes nothing else out', () => {
  const bag = new Bag<string>();
  const [one] = ['one', 'two'].map((item) => bag.add(item));
  bag.delete(one!);
  bag.delete(one!);
  expect(bag.items).toEqual(['two']);
});
