import { ManualClock } from '@gwk/test/support/clock';
import { chooseNext, DecoderQueue } from './decoder-queue.js';
import { DecodingBudget } from './decoding-budget.js';

const job = (running: number, isOver = false) => ({ running, isOver });

test.each<[string, ReturnType<typeof job>[], number | null]>([
  ['nothing if nobody waits', [], null],
  ['the first of accounts without jobs', [job(1), job(0), job(0)], 1],
  ['a second job of an account that is alone', [job(1)], 0],
  ['an account over its budget last', [job(0, true), job(1)], 1],
  ['an account over its budget if it is alone', [job(0, true)], 0],
  ['no second job of an account over its budget', [job(1, true)], null],
])('chooses %s', (_, waiting, expected) => {
  expect(chooseNext(waiting)).toBe(expected);
});

test('an account regains its budget in 10 minutes', () => {
  const budget = new DecodingBudget();
  budget.spend('a', 60, 0);
  budget.spend('a', 12, 0);
  expect([0, 60_000, 300_000, 720_000].map((now) => budget.used('a', now))).toEqual([72, 66, 42, 0]);
  expect(budget.used('b', 0)).toBe(0);
});

/** A queue of two decoders whose jobs end by hand. */
function openQueue() {
  const clock = new ManualClock();
  const started: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const decoded: unknown[] = [];
  const queue = new DecoderQueue({ decoders: 2, clock, onDecoded: (done) => decoded.push(done) });
  const run = (name: string, signal = new AbortController().signal): Promise<unknown> =>
    queue.run(name[0]!, signal, () => {
      started.push(name);
      return new Promise<void>((resolve, reject) => {
        ends.set(name, (error) => (error ? reject(error) : resolve()));
      });
    });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const end = async (name: string, error?: Error): Promise<void> => {
    ends.get(name)!(error);
    await settle();
  };
  return { clock, started, decoded, run, end, settle };
}

test('an account with many files delays another by one job', async () => {
  const { started, run, end, settle } = openQueue();
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1']) void run(name);
  await settle();
  expect(started).toEqual(['a1', 'a2']);
  await end('a1');
  await end('b1');
  await end('c1');
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3']);
});

test('an account over its budget leaves a decoder free', async () => {
  const { clock, started, decoded, run, end, settle } = openQueue();
  for (const name of ['a1', 'a2', 'a3', 'a4']) void run(name);
  await settle();
  clock.advance(61_000);
  await end('a1');
  await end('a2');
  expect(started).toEqual(['a1', 'a2', 'a3']);
  void run('b1');
  await settle();
  expect(started.at(-1)).toBe('b1');
  expect(decoded[0]).toEqual({ accountId: 'a', seconds: 61, wasOver: false, isOver: true });
});

test('a failed job and an aborted one free their places', async () => {
  const { started, run, end, settle } = openQueue();
  const failed = run('a1');
  void run('b1');
  const given = new AbortController();
  const aborted = run('c1', given.signal);
  const last = run('d1');
  given.abort(new Error('the worker stops'));
  await expect(aborted).rejects.toThrow('the worker stops');
  await expect(run('e1', given.signal)).rejects.toThrow('the worker stops');
  const failure = expect(failed).rejects.toThrow('broken');
  await settle();
  await end('a1', new Error('broken'));
  await failure;
  expect(started).toEqual(['a1', 'b1', 'd1']);
  await end('d1');
  await last;
});
