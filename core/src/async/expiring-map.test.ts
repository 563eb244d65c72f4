import { ExpiringMap } from './expiring-map.js';

test('keeps a limited number of the latest entries', () => {
  let time = 0;
  const recent = new ExpiringMap<number>({ max: 2, ttlMs: 50 }, () => time);
  for (const [name, value] of [['a', 1], ['b', 2], ['a', 3], ['c', 4]] as const) recent.set(name, value); // prettier-ignore
  expect([recent.get('a'), recent.get('b'), recent.get('c')]).toEqual([3, undefined, 4]);
  recent.delete('c');
  time = 49;
  expect(recent.get('a')).toBe(3);
  time = 50;
  expect(recent.get('a')).toBeUndefined();
  recent.set('d', 5);
  expect(recent.size).toBe(1);
});
