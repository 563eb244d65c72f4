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

test('the same key takes turns, another one does not wait for it', async () => {
  const [turns, work] = [new KeyedQueue(2), new Work()];
  const first = turns.take('ana', () => work.start('a1'));
  const second = turns.take('ana', () => work.start('a2'));
  const other = turns.take('bia', () => work.start('b1'));
  await settle();
  expect(work.begun).toEqual(['a1', 'b1']);
  await work.end('a1');
  expect(work.begun).toEqual(['a1', 'b1', 'a2']);
  await work.end('a2');
  await work.end('b1');
  expect(await Promise.all([first, second, other])).toEqual(['a1', 'a2', 'b1']);
});

test('no more run than there is room for, those who wait come in their order', async () => {
  const [turns, work] = [new KeyedQueue(1), new Work()];
  const all = ['one', 'two', 'three'].map((name) => turns.take(name, () => work.start(name)));
  await settle();
  expect(work.begun).toEqual(['one']);
  await work.end('one');
  expect(work.begun).toEqual(['one', 'two']);
  await work.end('two');
  await work.end('three');
  expect(await Promise.all(all)).toEqual(['one', 'two', 'three']);
});

test('one that fails is a failure of its own', async () => {
  const [turns, work] = [new KeyedQueue(1), new Work()];
  const bad = turns.take('ana', () => work.start('bad')).catch((error: Error) => error.message);
  const good = turns.take('ana', () => work.start('good'));
  await settle();
  await work.end('bad');
  await work.end('good');
  expect(await Promise.all([bad, good])).toEqual(['bad', 'good']);
});
