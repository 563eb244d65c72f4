import { KeyedLock } from './keyed-lock.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('admits the callers of one name in order, and others at once', async () => {
  const lock = new KeyedLock();
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => () => {
    order.push(name);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  const all = [lock.run('ana', work('a1')), lock.run('ana', work('a2')), lock.run('bia', work('b1'))];
  await turn();
  expect(order).toEqual(['a1', 'b1']);
  ends[0]!();
  await turn();
  expect(order).toEqual(['a1', 'b1', 'a2']);
  for (const end of ends) end();
  await Promise.all(all);
});

test('is released by work that fails', async () => {
  const lock = new KeyedLock();
  const bad = lock.run('ana', () => Promise.reject(new Error('bad')));
  const good = lock.run('ana', () => Promise.resolve('good'));
  await expect(bad).rejects.toThrow('bad');
  expect(await good).toBe('good');
});
