import { BufferPool, freeBuffer } from './buffers.js';

/** Queues work that keeps its buffer until the test ends it. @returns names of the work that got a buffer, in that order */
function openPool(count: number) {
  const pool = new BufferPool(count, 10);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const begin = (name: string, owner: string, isFirst = false): Promise<void> =>
    pool.use(
      owner,
      () => {
        started.push(name);
        return new Promise((resolve) => ends.set(name, resolve));
      },
      isFirst,
    );
  return { pool, started, begin, end: (name: string) => ends.get(name)!() };
}

test('the owner with the fewest buffers is next', async () => {
  const { pool, started, begin, end } = openPool(2);
  const work = [begin('a1', 'a'), begin('a2', 'a'), begin('a3', 'a'), begin('a4', 'a'), begin('b1', 'b')];
  await Promise.resolve();
  expect([started, pool.isAwaited]).toEqual([['a1', 'a2'], true]);
  end('a1');
  await work[0];
  expect(started).toEqual(['a1', 'a2', 'b1']);
  end('b1');
  await work[4];
  end('a2');
  await work[1];
  expect([started, pool.isAwaited]).toEqual([['a1', 'a2', 'b1', 'a3', 'a4'], false]);
});

test('work that has had no buffer is before other work', async () => {
  const { started, begin, end } = openPool(1);
  const work = [begin('a1', 'a'), begin('a2', 'a'), begin('b1', 'b'), begin('a3', 'a', true)];
  await Promise.resolve();
  end('a1');
  await work[0];
  expect(started).toEqual(['a1', 'a3']);
  end('a3');
  await work[3];
  expect(started).toEqual(['a1', 'a3', 'a2']);
});

test('a buffer is free again after an error', async () => {
  const pool = new BufferPool(1, 10);
  await expect(pool.use('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await pool.use('a', (buffer) => Promise.resolve(buffer.length))).toBe(10);
});

test('frees idle buffers except those that it keeps', async () => {
  const pool = new BufferPool(3, 10, 1);
  const seen: Buffer[] = [];
  const use = () => pool.use('a', (buffer) => Promise.resolve(seen.push(buffer)));
  await Promise.all([use(), use(), use()]);
  expect(seen.map(({ length }) => length).sort()).toEqual([0, 0, 10]);
  await use();
  expect(seen[3]!.length).toBe(10);
});

test('frees a buffer, but not the memory that Node shares among small buffers', () => {
  const own = Buffer.allocUnsafeSlow(10);
  freeBuffer(own);
  expect(own).toHaveLength(0);
  const small = Buffer.allocUnsafe(10);
  freeBuffer(Buffer.from(small.buffer));
  expect(small).toHaveLength(10);
});
