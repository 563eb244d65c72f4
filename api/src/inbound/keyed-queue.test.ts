import { KeyedQueue } from './keyed-queue.js';

const settle = () => new Promise((resolve) => setImmediate(resolve));

class Work {
  readonly begun: string[] = [];
  readonly #ends = new Map<string, () => void>();

  start(name: string): Promise<string> {
    this.begun.push(name);
    return new Promise((resolve, reject) => {
      this.#ends.set(name, () => (name.startsWith('bad') ? reject(new Error(name)) : resolve(name)));
    });
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)!();
    await settle();
  }
}

test('work of one key runs in turn, and work of another key does not wait for it', async () => {
  const [queue, work] = [new KeyedQueue(2), new Work()];
  const first = queue.take('ana', () => work.start('a1'));
  const second = queue.take('ana', () => work.start('a2'));
  const other = queue.take('bia', () => work.start('b1'));
  await settle();
  expect(work.begun).toEqual(['a1', 'b1']);
  await work.end('a1');
  expect(work.begun).toEqual(['a1', 'b1', 'a2']);
  await work.end('a2');
  await work.end('b1');
  expect(await Promise.all([first, second, other])).toEqual(['a1', 'a2', 'b1']);
});

test('runs at most as many tasks as the limit, and starts waiting ones in order', async () => {
  const [queue, work] = [new KeyedQueue(1), new Work()];
  const all = ['one', 'two', 'three'].map((name) => queue.take(name, () => work.start(name)));
  await settle();
  expect(work.begun).toEqual(['one']);
  await work.end('one');
  expect(work.begun).toEqual(['one', 'two']);
  await work.end('two');
  await work.end('three');
  expect(await Promise.all(all)).toEqual(['one', 'two', 'three']);
});

test('a failed task rejects its own promise only', async () => {
  const [queue, work] = [new KeyedQueue(1), new Work()];
  const bad = queue.take('ana', () => work.start('bad')).catch((error: Error) => error.message);
  const good = queue.take('ana', () => work.start('good'));
  await settle();
  await work.end('bad');
  await work.end('good');
  expect(await Promise.all([bad, good])).toEqual(['bad', 'good']);
});
