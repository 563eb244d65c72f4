import { setImmediate as turn } from 'node:timers/promises';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import { ManualClock } from '@gwk/test/support/clock';
import { BatchSender, type BatchSenderOptions } from './batch-sender.js';

const createSender = (change: Partial<BatchSenderOptions<string, string>>): BatchSender<string, string> =>
  new BatchSender({
    maxItems: 3,
    estimateBytes: () => 1,
    send: async (items) => items.map((item) => item.toUpperCase()),
    ...change,
  });

test('sends items of one moment together, in order, each with its own result', async () => {
  const groups: string[][] = [];
  const letters = createSender({
    send: async (items) => {
      groups.push(items);
      return items.map((item) => item.toUpperCase());
    },
  });
  const results = await Promise.all(['a', 'b', 'c', 'd'].map((item) => letters.push(item)));
  expect(results).toEqual(['A', 'B', 'C', 'D']);
  expect(groups).toEqual([['a', 'b', 'c'], ['d']]);
});

test('sends one request at a time; later items wait', async () => {
  let running = 0;
  let most = 0;
  const letters = createSender({
    send: async (items) => {
      most = Math.max(most, ++running);
      for (let turns = 0; turns < 5; turns++) await turn();
      running -= 1;
      return items;
    },
  });
  const first = letters.push('a');
  await turn();
  await turn();
  await Promise.all([first, letters.push('b'), letters.push('c')]);
  await letters.drain();
  expect(most).toBe(1);
});

test('splits large items into smaller batches, the largest alone', async () => {
  const groups: string[][] = [];
  const letters = createSender({
    estimateBytes: (item) => (item === 'b' ? 3_000_000 : 1_000_000),
    send: async (items) => {
      groups.push(items);
      return items;
    },
  });
  await Promise.all(['a', 'b', 'c', 'd'].map((item) => letters.push(item)));
  expect(groups).toEqual([['a'], ['b'], ['c', 'd']]);
});

test('a refused item fails alone', async () => {
  const letters = createSender({
    send: async (items) => {
      if (items.includes('bad')) throw new InternalApiRefusal('invalid', null);
      return items;
    },
  });
  const results = await Promise.allSettled(['a', 'bad', 'c'].map((item) => letters.push(item)));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

describe('items that may linger', () => {
  const LINGER_MS = 250;
  const groups: string[][] = [];
  let clock: ManualClock;
  const letters = (answered = Promise.resolve()) => {
    groups.length = 0;
    clock = new ManualClock();
    return createSender({
      mayLinger: (item) => item.startsWith('p'),
      send: async (items) => {
        groups.push(items);
        await answered;
        return items;
      },
      clock,
    });
  };

  test('go with the next item that may not, in order', async () => {
    const some = letters();
    await Promise.all(['p1', 'p2', 'now'].map((item) => some.push(item)));
    expect(groups).toEqual([['p1', 'p2', 'now']]);
  });

  test('go together when nothing else comes', async () => {
    const some = letters();
    const both = Promise.all(['p1', 'p2'].map((item) => some.push(item)));
    clock.advance(LINGER_MS - 1);
    await turn();
    expect(groups).toEqual([]);
    clock.advance(1);
    await both;
    expect(groups).toEqual([['p1', 'p2']]);
  });

  test('go in turn when they come during a request', async () => {
    let answer!: () => void;
    const some = letters(new Promise((resolve) => (answer = resolve)));
    const first = some.push('now');
    await turn();
    const both = Promise.all([some.push('p1'), some.push('p2')]);
    answer();
    await first;
    await turn();
    expect(groups).toEqual([['now']]);
    clock.advance(LINGER_MS);
    await both;
    expect(groups).toEqual([['now'], ['p1', 'p2']]);
  });

  test('are sent when the sender drains', async () => {
    const some = letters();
    const pushed = some.push('p1');
    await some.drain();
    expect(groups).toEqual([['p1']]);
    await pushed;
  });
});
