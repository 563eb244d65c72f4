import { inFakeTime, type PassTime } from '@gwk/test/support/fake-time';
import { Batcher } from './batcher.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('groups the items of one event loop turn and gives each caller its own result', async () => {
  const groups: number[][] = [];
  const batcher = new Batcher<number, number>({
    run: async (items) => {
      groups.push([...items]);
      return items.map((item) => item * 10);
    },
  });
  expect(await Promise.all([1, 2, 3].map((item) => batcher.submit(item)))).toEqual([10, 20, 30]);
  expect(groups).toEqual([[1, 2, 3]]);
});

test('limits the size of groups and the number of running ones', async () => {
  let running = 0;
  let most = 0;
  const sizes: number[] = [];
  const batcher = new Batcher<number, number>({
    maxItems: 4,
    inFlight: 2,
    run: async (items) => {
      sizes.push(items.length);
      most = Math.max(most, ++running);
      await turn();
      running--;
      return items;
    },
  });
  const items = Array.from({ length: 22 }, (_, i) => i);
  expect(await Promise.all(items.map((item) => batcher.submit(item)))).toEqual(items);
  expect(most).toBe(2);
  expect(sizes).toEqual([4, 4, 4, 4, 4, 2]);
  expect(batcher.size).toBe(0);
});

describe('with linger', () => {
  const HOUR = 3_600_000;
  const openLingering = (maxWaitMs: number, run?: () => Promise<unknown>) => {
    const groups: number[][] = [];
    const batcher = new Batcher<number, number>({
      linger: { minItems: 4, maxWaitMs },
      run: async (items) => {
        groups.push([...items]);
        await run?.();
        return items;
      },
    });
    const submit = (...items: number[]) => Promise.all(items.map((item) => batcher.submit(item)));
    return { groups, submit };
  };
  /** Many calls in a short time: afterwards the batcher expects more. */
  const submitMany = async (submit: (...items: number[]) => Promise<number[]>) => {
    for (let call = 0; call < 60; call++) await submit(0, 1, 2, 3);
  };

  test('does not wait while items are rare', async () => {
    const { groups, submit } = openLingering(5);
    await submit(1);
    await submit(2);
    expect(groups).toEqual([[1], [2]]);
  });

  /** Lets the group that a timer started reach `run`. */
  const after = async (pass: PassTime, ms: number) => {
    await pass(ms);
    await turn();
  };

  test(
    'does not wait when the items of one call are many, but calls are rare',
    inFakeTime(async (pass) => {
      const { groups, submit } = openLingering(30);
      for (let call = 0; call < 60; call++) {
        const answers = submit(1, 2, 3);
        await after(pass, 20);
        expect(groups).toHaveLength(call + 1);
        await answers;
      }
    }),
  );

  test(
    'waits for more items under load',
    inFakeTime(async (pass) => {
      const { groups, submit } = openLingering(HOUR);
      await submitMany(submit);
      groups.length = 0;
      const first = submit(1, 2);
      await after(pass, HOUR - 1);
      expect(groups).toEqual([]);
      await Promise.all([first, submit(3, 4)]);
      expect(groups).toEqual([[1, 2, 3, 4]]);
    }),
  );

  test(
    'starts a group after maxWaitMs',
    inFakeTime(async (pass) => {
      const { groups, submit } = openLingering(20);
      await submitMany(submit);
      groups.length = 0;
      const only = submit(1);
      await after(pass, 19);
      expect(groups).toEqual([]);
      await after(pass, 1);
      await only;
      expect(groups).toEqual([[1]]);
    }),
  );

  const openBlocked = () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    return { ...openLingering(HOUR, () => held), release: () => release() };
  };

  test(
    'starts a second group once it has minItems',
    inFakeTime(async (pass) => {
      const { groups, submit, release } = openBlocked();
      const all = [submit(0, 1, 2, 3, 4)];
      await after(pass, 5);
      all.push(submit(5, 6, 7));
      await after(pass, 5);
      expect(groups).toEqual([[0, 1, 2, 3, 4]]);
      all.push(submit(8));
      await after(pass, 5);
      expect(groups[1]).toEqual([5, 6, 7, 8]);
      release();
      await Promise.all(all);
    }),
  );
});

test('isolates the item at fault when mayIsolate allows it', async () => {
  const batcher = new Batcher<number, number>({
    mayIsolate: () => true,
    run: async (items) => {
      if (items.includes(13)) throw new Error('unlucky');
      return items;
    },
  });
  const settled = await Promise.allSettled(Array.from({ length: 40 }, (_, i) => batcher.submit(i)));
  expect(settled.flatMap((result, i) => (result.status === 'rejected' ? [i] : []))).toEqual([13]);
});

test('does not run a group again when mayIsolate is false', async () => {
  let runs = 0;
  const batcher = new Batcher<number, number>({
    mayIsolate: () => false,
    run: () => {
      runs++;
      return Promise.reject(new Error('connection lost'));
    },
  });
  const settled = await Promise.allSettled([1, 2, 3].map((item) => batcher.submit(item)));
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(runs).toBe(1);
});

test(
  'rejects items at the deadline, in a group that hangs and in the queue',
  inFakeTime(async (pass) => {
    let release = () => {};
    const hanging = new Promise<void>((resolve) => (release = resolve));
    const batcher = new Batcher<number, number>({
      maxItems: 1,
      inFlight: 1,
      deadlineMs: 50,
      onTimeout: () => new Error('late'),
      run: async (items) => {
        await hanging;
        return items;
      },
    });
    const settling = Promise.allSettled([batcher.submit(1), batcher.submit(2)]);
    await pass(49);
    expect(batcher.size).toBe(2);
    await pass(1);
    expect(await settling).toMatchObject([{ reason: { message: 'late' } }, { reason: { message: 'late' } }]);
    const next = batcher.submit(3);
    release();
    expect(await next).toBe(3);
  }),
);
