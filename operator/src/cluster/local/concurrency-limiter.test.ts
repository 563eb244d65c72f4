import { ConcurrencyLimiter } from './concurrency-limiter.js';

test('so many at a time; the others wait in the order they came, and a slot is given back once', async () => {
  const slots = new ConcurrencyLimiter(2);
  const taken: string[] = [];
  const take = async (name: string) => {
    const give = await slots.acquire();
    taken.push(name);
    return give;
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
