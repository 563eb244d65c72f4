import { inFakeTime, type PassTime } from '@gwk/test/support/fake-time';
import { Batcher } from './batcher.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('what is submitted in one turn is one group, and each gets its own answer', async () => {
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

test('groups are bounded, and so is how many are under way', async () => {
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

test.each([
  ['what waits is shared between groups, so that one is answered while another runs', 64, [32, 32]],
  ['few are one group', 32, [32]],
  ['of many, groups stay large', 200, [100, 50, 32, 18]],
])('%s', async (_, amount, expected) => {
  const sizes: number[] = [];
  const batcher = new Batcher<number, number>({
    atOnce: 32,
    inFlight: 4,
    run: async (items) => {
      sizes.push(items.length);
      return items;
    },
  });
  const items = Array.from({ length: amount }, (_item, i) => i);
  expect(await Promise.all(items.map((item) => batcher.submit(item)))).toEqual(items);
  expect(sizes).toEqual(expected);
});

describe('where a group costs as much as many of its items', () => {
  const HOUR = 3_600_000;
  const gathering = (ms: number, run?: () => Promise<unknown>, quietMs?: number) => {
    const groups: number[][] = [];
    const batcher = new Batcher<number, number>({
      gather: { items: 4, ms, ...(quietMs !== undefined && { quietMs }) },
      run: async (items) => {
        groups.push([...items]);
        await run?.();
        return items;
      },
    });
    const submit = (...items: number[]) => Promise.all(items.map((item) => batcher.submit(item)));
    return { groups, submit };
  };
  /** Many in one turn: more are to be expected from then on. */
  const burst = Array.from({ length: 60 }, (_, i) => i);

  test('while few come, nothing waits for company', async () => {
    const { groups, submit } = gathering(5);
    await submit(1);
    await submit(2);
    expect(groups).toEqual([[1], [2]]);
  });

  /** What a timer has started is under way. */
  const after = async (pass: PassTime, ms: number) => {
    await pass(ms);
    await turn();
  };

  test(
    'where more can be expected, a group waits for them',
    inFakeTime(async (pass) => {
      const { groups, submit } = gathering(HOUR);
      await submit(...burst);
      groups.length = 0;
      const first = submit(1, 2);
      await after(pass, HOUR - 1);
      expect(groups).toEqual([]);
      await Promise.all([first, submit(3, 4)]);
      expect(groups).toEqual([[1, 2, 3, 4]]);
    }),
  );

  test(
    'it does not wait longer than it may',
    inFakeTime(async (pass) => {
      const { groups, submit } = gathering(20);
      await submit(...burst);
      groups.length = 0;
      const only = submit(1);
      await after(pass, 19);
      expect(groups).toEqual([]);
      await after(pass, 1);
      await only;
      expect(groups).toEqual([[1]]);
    }),
  );

  test(
    'nor longer than something comes',
    inFakeTime(async (pass) => {
      const { groups, submit } = gathering(HOUR, undefined, 60);
      await submit(...burst);
      groups.length = 0;
      const all = [submit(1)];
      await after(pass, 59);
      all.push(submit(3));
      await after(pass, 59);
      expect(groups).toEqual([]);
      await after(pass, 1);
      await Promise.all(all);
      expect(groups).toEqual([[1, 3]]);
    }),
  );

  const heldUp = (quietMs?: number) => {
    let letGo = () => {};
    const held = new Promise<void>((resolve) => (letGo = resolve));
    return { ...gathering(HOUR, () => held, quietMs), letGo: () => letGo() };
  };

  test(
    'silence starts none that would stand behind another',
    inFakeTime(async (pass) => {
      const { groups, submit, letGo } = heldUp(1);
      const first = submit(0, 2, 4, 1);
      await after(pass, 5);
      const second = submit(3);
      await after(pass, HOUR - 1);
      expect(groups).toEqual([[0, 2, 4, 1]]);
      letGo();
      await Promise.all([first, second]);
    }),
  );

  test(
    'the next group stands behind the first once it is large enough',
    inFakeTime(async (pass) => {
      const { groups, submit, letGo } = heldUp();
      const all = [submit(0, 1, 2, 3, 4)];
      await after(pass, 5);
      all.push(submit(5, 6, 7));
      await after(pass, 5);
      expect(groups).toEqual([[0, 1, 2, 3, 4]]);
      all.push(submit(8));
      await after(pass, 5);
      expect(groups[1]).toEqual([5, 6, 7, 8]);
      letGo();
      await Promise.all(all);
    }),
  );
});

test('one bad item fails alone where groups may be run again in parts', async () => {
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

test('a group is not run again after an error that may have come too late', async () => {
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
  'nobody waits beyond the deadline, neither in a group that hangs nor behind it',
  inFakeTime(async (pass) => {
    let letGo = () => {};
    const hanging = new Promise<void>((resolve) => (letGo = resolve));
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
    letGo();
    expect(await next).toBe(3);
  }),
);
