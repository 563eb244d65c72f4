import { CallGate } from './call-gate.js';

/** Runs calls that end by hand. */
function openGate() {
  const gate = new CallGate({ atOnce: 2, waiting: 1 });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (name: string) =>
    gate.run(name[0]!, () => {
      started.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { gate, started, run, settle, end: (name: string) => ends.get(name)!() };
}

test('runs some calls of a caller at once, lets some wait, refuses others, and serves other callers', async () => {
  const { gate, started, run, settle, end } = openGate();
  const calls = ['a1', 'a2', 'a3', 'b1'].map(run);
  await expect(run('a4')).rejects.toMatchObject({ refusal: 'unavailable', more: { retry_after_ms: 1_000 } });
  await settle();
  expect(started).toEqual(['a1', 'a2', 'b1']);
  end('a1');
  await settle();
  expect(started.at(-1)).toBe('a3');
  for (const name of ['a2', 'a3', 'b1']) end(name);
  await Promise.all(calls);
  expect(gate.callers).toBe(0);
});

test('a failed call frees its place', async () => {
  const { gate, run, settle, started, end } = openGate();
  const fail = () => gate.run('a', () => Promise.reject(new Error('broken')));
  await expect(Promise.all([fail(), fail(), fail()])).rejects.toThrow('broken');
  const call = run('a1');
  await settle();
  expect(started).toEqual(['a1']);
  end('a1');
  await call;
});
