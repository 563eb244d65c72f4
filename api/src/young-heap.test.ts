import { execFileSync } from 'node:child_process';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { GROWING_BY_ITS_SIZE, keepNewObjectsYoung, NO_PRETENURING } from './young-heap.js';

const payload = (value: number) => ({ value, issues: [] as string[] });

/** As many as outlive several searches of the space for new objects. */
function pileUp(): void {
  const kept: object[] = [];
  for (let i = 0; i < 3_000_000; i++) kept.push(payload(i));
}

test('what comes from a place whose objects lived long once is young nevertheless', () => {
  keepNewObjectsYoung();
  setFlagsFromString('--allow-natives-syntax');
  const isYoung = runInThisContext('(object) => %InYoungGeneration(object)') as (object: object) => boolean;
  for (let time = 0; time < 6; time++) pileUp();
  const young = Array.from({ length: 100 }, (_, i) => isYoung(payload(i).issues));
  expect(young.filter(Boolean)).toHaveLength(100);
});

test.each([NO_PRETENURING, GROWING_BY_ITS_SIZE])('V8 still knows the flag %s', (flag) => {
  const run = () => execFileSync(process.execPath, [flag, '--eval', ''], { encoding: 'utf8', stdio: 'pipe' });
  expect(run).not.toThrow();
});
