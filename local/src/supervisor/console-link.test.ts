import { makeLinkBy } from './console-link.js';
import { GwkFailed } from './programs.js';

const LINK = 'http://127.0.0.1:8080/console/handoff#token=x';
const answer = JSON.stringify({ url: LINK });

/** Runs of `gwk` with their outcomes. */
function fakeGwk(outcomes: (string | Error)[]) {
  const calls: string[] = [];
  const run = (args: string[]): Promise<string> => {
    calls.push(args.slice(0, 2).join(' '));
    const outcome = outcomes.shift()!;
    return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
  };
  return { calls, run };
}

test('creates the user if there is none', async () => {
  const missing = new GwkFailed('gwk user handoff failed: user "local@localhost" not found (gwk user list)');
  const { run, calls } = fakeGwk([missing, '', answer]);
  expect(await makeLinkBy(run, 'local')).toBe(LINK);
  expect(calls).toEqual(['user handoff', 'user create', 'user handoff']);
});

test('reports any other failure as it is', async () => {
  const { run, calls } = fakeGwk([new GwkFailed('gwk user handoff failed: connect ECONNREFUSED')]);
  await expect(makeLinkBy(run, 'local')).rejects.toThrow('ECONNREFUSED');
  expect(calls).toEqual(['user handoff']);
});
