import { Recent } from './recent.js';

const filled = (amount: number) => {
  const recent = new Recent<number>(10);
  for (let i = 0; i < amount; i++) recent.set(String(i), i);
  return recent;
};
const kept = (recent: Recent<number>, amount: number) =>
  Array.from({ length: amount }, (_, i) => i).filter((i) => recent.get(String(i)) !== undefined);

test('at least half of what it may hold is there', () => {
  expect(kept(filled(5), 5)).toEqual([0, 1, 2, 3, 4]);
  expect(kept(filled(100), 100)).toEqual(expect.arrayContaining([95, 96, 97, 98, 99]));
});

test('no more than it may hold is there', () => {
  for (let amount = 1; amount < 40; amount++) {
    expect(kept(filled(amount), amount).length).toBeLessThanOrEqual(10);
  }
});

test('what is used is kept, however many others come', () => {
  const recent = filled(3);
  for (let i = 10; i < 100; i++) {
    recent.set(String(i), i);
    expect(recent.get('1')).toBe(1);
  }
  expect(recent.get('2')).toBeUndefined();
});

test('a key has the value that it was given last, and none once it was deleted', () => {
  const recent = filled(7);
  recent.set('1', 100);
  expect(recent.get('1')).toBe(100);
  recent.delete('1');
  expect(recent.get('1')).toBeUndefined();
});
