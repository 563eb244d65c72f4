import { ConcurrencyLimiter } from './concurrency-limiter.js';

test('limits concurrency in order of arrival, and releases a slot once', async () => {
  const limiter = new ConcurrencyLimiter(2);
  const taken: string[] = [];
  const take = async (name: string) => {
    const release = await limiter.acquire();
    taken.push(name);
    return release;
  };
  const [first] = [await take('a'), await take('b')];
  void take('c');
  void take('d');
  await new Promise((resolve) => setImmediate(resolve));
  expect(taken).toEqual(['a', 'b']);
  first();
  first();
  await new Promise((resolve) => setImmediate(resolve));
  expect(taken).toEqual(['a', 'b', 'c']);
});
