import { Recent } from './recent.js';

const filled = (amount: number) => {
  const recent = new Recent<number>(10);
  for (let i = 0; i < amount; i++) recent.set(String(i), i);
  return recent;
};
const kept = (recent: Recent<number>, amount: number) =>
  Array.from({ length: amount }, (_, i) => i).filter((i) => recent.get(String(i)) !== undefined);

test('as many as it is to know for certain are there', () => {
  expect(kept(filled(10), 10)).toHaveLength(10);
  expect(kept(filled(100), 100)).toEqual(
    expect.arrayContaining(Array.from({ length: 10 }, (_, i) => 90 + i)),
  );
});

test('those who come in turn are all there, as long as they are no more than that', () => {
  const recent = filled(10);
  for (let turn = 0; turn < 100; turn++) expect(recent.get(String(turn % 10))).toBe(turn % 10);
});

test('twice as many are held at most', () => {
  for (let amount = 1; amount < 80; amount++) {
    expect(kept(filled(amount), amount).length).toBeLessThanOrEqual(20);
  }
});

test('what is used is kept, however many others come', () => {
  const recent = filled(3);
  for (let i = 10; i < 200; i++) {
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
