import { KeyedQueue } from './keyed-queue.js';

const queue = () => new KeyedQueue<string>();

test('runs the first item of each conversation; the others wait for their turn', () => {
  const all = queue();
  expect(all.offer('1', 'a', 'one')).toBe('run');
  expect(all.offer('2', 'a', 'two')).toBe('wait');
  expect(all.offer('3', 'b', 'three')).toBe('run');
  expect(all.offer('4', 'a', 'four')).toBe('wait');
  expect(all.finish('a')).toBe('two');
  expect(all.finish('a')).toBe('four');
  expect(all.finish('a')).toBeUndefined();
  expect(all.offer('5', 'a', 'five')).toBe('run');
});

test('knows a second copy until the first is forgotten, even after it finished', () => {
  const all = queue();
  all.offer('1', 'a', 'one');
  expect(all.offer('1', 'a', 'one')).toBe('known');
  all.finish('a');
  expect(all.offer('1', 'a', 'one')).toBe('known');
  expect(all.get('1')).toBe('one');
  all.forget('1');
  expect(all.size).toBe(0);
  expect(all.offer('1', 'a', 'one')).toBe('run');
});

test('withdraws waiting items, which stay known', () => {
  const all = queue();
  for (const id of ['1', '2', '3']) all.offer(id, 'a', id);
  all.offer('4', 'b', '4');
  expect(all.withdraw((waiting, running) => running === '1' && waiting === '2')).toEqual(['2']);
  expect([all.hasWaiting, all.get('2')]).toEqual([true, '2']);
  expect(all.withdraw((_, running) => running === '1')).toEqual(['3']);
  expect(all.hasWaiting).toBe(false);
  expect([all.finish('a'), all.finish('b')]).toEqual([undefined, undefined]);
});
