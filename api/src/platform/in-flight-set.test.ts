import { InFlightSet } from './in-flight-set.js';

test('deletes an entry at any position and keeps the others', () => {
  const set = new InFlightSet<number>();
  const entries = [0, 1, 2, 3, 4].map((item) => set.add(item));
  for (const [deleted, left] of [
    [1, [0, 2, 3, 4]],
    [4, [0, 2, 3]],
    [0, [2, 3]],
    [3, [2]],
    [2, []],
  ] as const) {
    set.delete(entries[deleted]!);
    expect(set.items.sort()).toEqual(left);
    expect(set.size).toBe(left.length);
  }
});

test('ignores a second delete of an entry', () => {
  const set = new InFlightSet<string>();
  const [one] = ['one', 'two'].map((item) => set.add(item));
  set.delete(one!);
  set.delete(one!);
  expect(set.items).toEqual(['two']);
});
