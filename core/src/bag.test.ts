import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Bag, type BagEntry } from './bag.js';

const gc = exposedGc();

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

test('what was taken out is gone with the next search of new objects', () => {
  const bag = new Bag<number[]>();
  const underWay: BagEntry<number[]>[] = [];
  gc();
  const before = process.memoryUsage().heapUsed;
  // 40 MB pass through, a quarter of one at a time. By way of a Set, 25 of them stay until all is searched.
  for (let i = 0; i < 10_000; i++) {
    underWay.push(bag.add(new Array<number>(500).fill(i)));
    if (underWay.length > 64) bag.delete(underWay.shift()!);
    if (i % 500 === 0) gc({ type: 'minor' });
  }
  for (const entry of underWay) bag.delete(entry);
  gc({ type: 'minor' });
  gc({ type: 'minor' });
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
});

function exposedGc(): (options?: { type: 'minor' }) => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
