import { ManualClock } from '@gwk/test/support/clock';
import { chooseNext, DecoderQueue, SHORT_MS } from './decoder-queue.js';
import { DecodingBudget } from './decoding-budget.js';

type Choice = Parameters<typeof chooseNext>[0][number];
const job = (running: number, other: Partial<Choice> = {}): Choice => ({
  ...{ running, runningAlike: running, used: 0, isOver: false, isLong: false, mayRun: true },
  ...other,
});
const over = { isOver: true };

test.each<[string, Choice[], number | null]>([
  ['nothing if nobody waits', [], null],
  ['the first of accounts without jobs', [job(1), job(0), job(0)], 1],
  ['the account that has decoded least', [job(0, { used: 2 }), job(0, { used: 1 }), job(0, { used: 3 })], 1],
  ['a second job of an account that is alone', [job(1)], 0],
  ['an account over its budget last', [job(0, over), job(1)], 1],
  ['an account over its budget if it is alone', [job(0, over)], 0],
  ['no second job of an account over its budget', [job(1, over)], null],
  [
    'a short job of an account over its budget beside its long one',
    [job(1, { ...over, runningAlike: 0 })],
    0,
  ],
  ['no job that may not run', [job(0, { mayRun: false }), job(3)], 1],
  ['a short job before a long one of the account', [job(0, { isLong: true }), job(0)], 1],
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

/** A queue whose jobs end by hand. Interrupted jobs end at once, and start again with a star behind their name. */
function openQueue(decoders = 2) {
  const clock = new ManualClock();
  const started: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const decoded: unknown[] = [];
  const queue = new DecoderQueue({ decoders, clock, onDecoded: (done) => decoded.push(done) });
  const run = (
    name: string,
    signal = new AbortController().signal,
    { reading = Promise.resolve() }: { reading?: Promise<void> } = {},
  ): Promise<unknown> => {
    let runs = 0;
    return queue.run(name[0]!, signal, (interrupted, onDecoding) => {
      started.push(runs++ === 0 ? name : `${name}*`);
      void reading.then(onDecoding);
      return new Promise<void>((resolve, reject) => {
        ends.set(name, (error) => (error ? reject(error) : resolve()));
        interrupted.addEventListener('abort', () => reject(interrupted.reason as Error));
      });
    });
  };
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

test('a job is interrupted 3 s after its decoding begins, however long it reads its file', async () => {
  const { clock, started, decoded, run, settle } = openQueue(1);
  const { promise: reading, resolve: endReading } = Promise.withResolvers<void>();
  for (const name of ['a1', 'b1']) void run(name, undefined, { reading });
  await settle();
  clock.advance(600_000);
  endReading();
  await settle();
  clock.advance(SHORT_MS.alone - 1);
  await settle();
  expect(started).toEqual(['a1']);
  clock.advance(1);
  await settle();
  expect(started).toEqual(['a1', 'b1']);
  expect(decoded).toEqual([{ accountId: 'a', seconds: 3, wasOver: false, isOver: false }]);
});

test('an account over its budget is behind others', async () => {
  const { clock, started, decoded, run, end, settle } = openQueue();
  for (const name of ['a1', 'a2']) void run(name);
  await settle();
  clock.advance(61_000);
  for (const name of ['a3', 'a4', 'b1']) void run(name);
  await settle();
  expect(started).toEqual(['a1', 'a2', 'b1']);
  await end('a1');
  await end('b1');
  // The interrupted run is free.
  expect(decoded.slice(0, 2)).toEqual([
    { accountId: 'a', seconds: 61, wasOver: false, isOver: false },
    { accountId: 'a', seconds: 61, wasOver: false, isOver: true },
  ]);
  // One short and one long job of the account at a time.
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3', 'a2*']);
});

test('a short job waits 3 s for a decoder at most, and the interrupted one runs again', async () => {
  const { clock, started, run, end, settle } = openQueue();
  for (const name of ['a1', 'b1', 'c1']) void run(name);
  await settle();
  clock.advance(SHORT_MS.alone - 1);
  await settle();
  expect(started).toEqual(['a1', 'b1']);
  clock.advance(1);
  await settle();
  expect(started).toEqual(['a1', 'b1', 'c1']);
  // Not again: b1 is long now, and a1 is interrupted for the next.
  await end('c1');
  expect(started).toEqual(['a1', 'b1', 'c1', 'b1*']);
  void run('d1');
  await settle();
  expect(started.at(-1)).toBe('d1');
  void run('e1');
  clock.advance(SHORT_MS.alone);
  await settle();
  expect(started.slice(4)).toEqual(['d1', 'e1']);
});

test('two films, also of one account, leave a decoder for its pictures', async () => {
  const { clock, started, run, end, settle } = openQueue();
  for (const name of ['a1', 'a2']) void run(name);
  await settle();
  clock.advance(600_000);
  void run('a3');
  await settle();
  expect(started).toEqual(['a1', 'a2', 'a3']);
  await end('a3');
  await end('a1');
  expect(started).toEqual(['a1', 'a2', 'a3', 'a2*']);
});

test('two accounts with 20 endless files each delay the pictures of a third one by 1 s each', async () => {
  const { clock, started, run, end, settle } = openQueue();
  for (let file = 10; file < 30; file++) for (const account of ['a', 'b']) void run(`${account}${file}`);
  await settle();
  for (let picture = 0; picture < 30; picture++) {
    const name = `c${picture}`;
    void run(name);
    await settle();
    if (!started.includes(name)) clock.advance(SHORT_MS.shared);
    await settle();
    expect(started).toContain(name);
    await end(name);
    clock.advance(500);
  }
});

test('with one decoder, a job that was interrupted once holds it to its end', async () => {
  const { clock, started, run, end, settle } = openQueue(1);
  for (const name of ['a1', 'b1']) void run(name);
  await settle();
  clock.advance(SHORT_MS.alone);
  await settle();
  await end('b1');
  void run('c1');
  clock.advance(600_000);
  await settle();
  expect(started).toEqual(['a1', 'b1', 'a1*']);
  await end('a1');
  expect(started.at(-1)).toBe('c1');
});

test('an interrupted job whose message is abandoned does not run again', async () => {
  const { clock, started, run, end, settle } = openQueue();
  const given = new AbortController();
  void run('a1');
  const abandoned = run('b1', given.signal);
  void run('c1');
  await settle();
  clock.advance(SHORT_MS.alone);
  await settle();
  given.abort(new Error('the worker stops'));
  await expect(abandoned).rejects.toThrow('the worker stops');
  await end('c1');
  expect(started).toEqual(['a1', 'b1', 'c1']);
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
