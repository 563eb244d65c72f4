import { RecentMap } from './recent-map.js';

const filled = (amount: number) => {
  const recent = new RecentMap<number>(10);
  for (let i = 0; i < amount; i++) recent.set(String(i), i);
  return recent;
};
const kept = (recent: RecentMap<number>, amount: number) =>
  Array.from({ length: amount }, (_, i) => i).filter((i) => recent.get(String(i)) !== undefined);

test('keeps the last entries up to its minimum size', () => {
  expect(kept(filled(10), 10)).toHaveLength(10);
  expect(kept(filled(100), 100)).toEqual(
    expect.arrayContaining(Array.from({ length: 10 }, (_, i) => 90 + i)),
  );
});

test('keeps all entries that are used in turn', () => {
  const recent = filled(10);
  for (let turn = 0; turn < 100; turn++) expect(recent.get(String(turn % 10))).toBe(turn % 10);
});

test('keeps at most twice its minimum size', () => {
  for (let amount = 1; amount < 80; amount++) {
    expect(kept(filled(amount), amount).length).toBeLessThanOrEqual(20);
  }
});

test('keeps an entry in use among many new ones', () => {
  const recent = filled(3);
  for (let i = 10; i < 200; i++) {
    recent.set(String(i), i);
    expect(recent.get('1')).toBe(1);
  }
  expect(recent.get('2')).toBeUndefined();
});

test('returns the last value of a key, and none after its deletion', () => {
  const recent = filled(7);
  recent.set('1', 100);
  expect(recent.get('1')).toBe(100);
  recent.delete('1');
  expect(recent.get('1')).toBeUndefined();
});
