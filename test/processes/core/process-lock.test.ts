import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { acquireProcessLock } from '@gwk/core/process/process-lock';
import { nextOutput } from '../../support/program.js';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwk-lock-'));
  path = join(folder, 'lock');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const program = (work: string) =>
  `import { acquireProcessLock } from '@gwk/core/process/process-lock'; ${work}`;
const run = (work: string) =>
  spawn(process.execPath, ['--input-type=module', '-e', program(work)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });

test('is taken over from a killed process, and reports that', async () => {
  const holder = run(`acquireProcessLock('${path}'); console.log('held'); setInterval(() => {}, 1000)`);
  await nextOutput(holder);
  expect(() => acquireProcessLock(path)).toThrow(String(holder.pid));
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const lock = acquireProcessLock(path);
  expect(lock.wasAbandoned).toBe(true);
  lock.release();
});

test('lets exactly one of several processes take over an abandoned lock', async () => {
  const work = `
    process.stdin.on('data', (name) => {
      let said = 'took';
      try { acquireProcessLock('${path}' + String(name).trim()); } catch (error) { said = error.name; }
      console.log(said);
    });
    process.stdin.on('end', () => process.exit());
    console.log('waits');`;
  const children = Array.from({ length: 4 }, () => run(work));
  const nextLines = () => children.map(nextOutput);
  await Promise.all(nextLines());
  for (let round = 0; round < 100; round++) {
    writeFileSync(`${path}${round}.pid`, '999999999');
    const answers = nextLines();
    for (const child of children) child.stdin.write(`${round}\n`);
    const said = (await Promise.all(answers)).map((line) => line.trim());
    expect(said.sort()).toEqual(['LockHeldError', 'LockHeldError', 'LockHeldError', 'took']);
  }
  for (const child of children) child.stdin.end();
  await Promise.all(children.map((child) => once(child, 'exit')));
});
