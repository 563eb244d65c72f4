import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AlreadyRunning, takeLock } from './lock.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
  file = join(folder, 'lock');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const module = new URL('../../dist/supervisor/lock.js', import.meta.url).href;
const program = (work: string) => `const { takeLock } = await import('${module}'); ${work}`;
const run = (work: string) =>
  spawn(process.execPath, ['--input-type=module', '-e', program(work)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });

test('is held by one, who is named to the next, and is free after it', () => {
  const lock = takeLock(file);
  expect(lock.wasAbandoned).toBe(false);
  expect(() => takeLock(file)).toThrow(AlreadyRunning);
  expect(() => takeLock(file)).toThrow(`pid ${process.pid}`);
  lock.release();
  expect(readdirSync(folder)).toEqual([]);
  takeLock(file).release();
});

test('of a killed process is taken over, and that is said', async () => {
  const holder = run(`takeLock('${file}'); console.log('held'); setInterval(() => {}, 1000)`);
  await once(holder.stdout, 'data');
  expect(() => takeLock(file)).toThrow(`pid ${holder.pid}`);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const lock = takeLock(file);
  expect(lock.wasAbandoned).toBe(true);
  lock.release();
});

test('of a process whose number another one has now is taken over', () => {
  writeFileSync(file, `${process.pid} 1`);
  expect(takeLock(file).wasAbandoned).toBe(true);
});

test('an abandoned one is taken over by one of several at once', async () => {
  writeFileSync(file, '999999999 1');
  const work = `
    process.stdin.once('data', () => {
      try { takeLock('${file}'); console.log('took'); } catch (error) { console.log(error.name); }
      process.stdin.once('data', () => process.exit());
    });
    console.log('waits');`;
  const children = Array.from({ length: 6 }, () => run(work));
  await Promise.all(children.map((child) => once(child.stdout, 'data')));
  const answers = children.map((child) => once(child.stdout, 'data'));
  for (const child of children) child.stdin.write('go\n');
  const said = (await Promise.all(answers)).map(([line]) => String(line).trim());
  for (const child of children) child.stdin.write('end\n');
  await Promise.all(children.map((child) => once(child, 'exit')));
  expect(said.filter((line) => line === 'took')).toHaveLength(1);
  expect(said.filter((line) => line === 'AlreadyRunning')).toHaveLength(5);
});
