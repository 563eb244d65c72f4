import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildAlone } from './build-lock.js';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'gwk-lock-'))));
afterEach(() => rmSync(folder, { recursive: true }));

test('builds with the same lock run one after the other, also after an error', async () => {
  const steps: string[] = [];
  const lock = join(folder, 'deep/lock');
  const build = (name: string) =>
    buildAlone(lock, async () => {
      steps.push(`${name} begins`);
      await new Promise(setImmediate);
      steps.push(`${name} ends`);
      if (name === 'one') throw new Error('no compiler');
      return name;
    });
  const [one, two] = await Promise.allSettled([build('one'), build('two')]);
  expect([one.status, two.status]).toEqual(['rejected', 'fulfilled']);
  const [first] = steps[0]!.split(' ');
  const second = first === 'one' ? 'two' : 'one';
  expect(steps).toEqual([`${first} begins`, `${first} ends`, `${second} begins`, `${second} ends`]);
});

test('a machine without flock builds without the lock', async () => {
  const { PATH } = process.env;
  process.env['PATH'] = folder;
  try {
    expect(await buildAlone(join(folder, 'lock'), () => 'built')).toBe('built');
  } finally {
    process.env['PATH'] = PATH;
  }
});
