import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { GROWING_BY_ITS_SIZE, NO_PRETENURING } from '@gwk/api/programs/young-heap';

const YOUNG_HEAP = fileURLToPath(new URL('../../../api/dist/programs/young-heap.js', import.meta.url));
const run = (args: string[]) =>
  execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/**
 * Objects of one call site survive several scavenges. Then the script counts how many of 100 new objects are in the
 * young generation.
 */
const LONG_LIVED = `
  import { setFlagsFromString } from 'node:v8';
  import { runInThisContext } from 'node:vm';
  setFlagsFromString('--allow-natives-syntax');
  const isYoung = runInThisContext('(object) => %InYoungGeneration(object)');
  function payload(value) { return { value, issues: [] }; }
  function youngOnes() {
    let count = 0;
    for (let i = 0; i < 100; i++) if (isYoung(payload(i).issues)) count++;
    return count;
  }
  let kept = [];
  for (let time = 0; time < 3; time++) {
    kept = [];
    for (let i = 0; i < 1e6; i++) kept.push(payload(i));
  }
  kept = [];
  console.log(youngOnes());
`;
/** Single-threaded: V8's decisions do not depend on the load of the machine. */
const youngOnes = (before: string) =>
  Number(run(['--single-threaded', '--input-type=module', '--eval', `${before}\n${LONG_LIVED}`]));

test('V8 pretenures objects of a call site with long-lived objects, unless disablePretenuring() was called', () => {
  expect(youngOnes('')).toBeLessThan(100);
  expect(youngOnes(`import { disablePretenuring } from '${YOUNG_HEAP}'; disablePretenuring();`)).toBe(100);
});

test.each([NO_PRETENURING, GROWING_BY_ITS_SIZE])('V8 still knows the flag %s', (flag) => {
  expect(() => run([flag, '--eval', ''])).not.toThrow();
});
