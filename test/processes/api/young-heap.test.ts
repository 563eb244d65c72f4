import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { GROWING_BY_ITS_SIZE, NO_PRETENURING } from '@gwk/api/programs/young-heap';

const YOUNG_HEAP = fileURLToPath(new URL('../../../api/dist/programs/young-heap.js', import.meta.url));
const run = (args: string[]) =>
  execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** Objects of one place outlive several searches of the space for new ones; then how many of a hundred new ones are young. */
const PILING_UP = `
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
/** In one thread: what V8 does then does not hang on how busy the machine is. */
const youngOnes = (before: string) =>
  Number(run(['--single-threaded', '--input-type=module', '--eval', `${before}\n${PILING_UP}`]));

test('what comes from a place whose objects lived long once is old for V8, and young as it is told', () => {
  expect(youngOnes('')).toBeLessThan(100);
  expect(youngOnes(`import { disablePretenuring } from '${YOUNG_HEAP}'; disablePretenuring();`)).toBe(100);
});

test.each([NO_PRETENURING, GROWING_BY_ITS_SIZE])('V8 still knows the flag %s', (flag) => {
  expect(() => run([flag, '--eval', ''])).not.toThrow();
});
