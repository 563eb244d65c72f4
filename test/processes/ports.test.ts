import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from '../support/program.js';

const PORTS = join(ROOT, 'test/dist/support/ports.js');
/** Two processes without coordination would pick some ports twice. */
const PICKS = 500;

const PICKER = `
  const { pickPort } = await import(${JSON.stringify(PORTS)});
  const picks = Array.from({ length: ${PICKS} }, () => pickPort());
  console.log(JSON.stringify(await Promise.all(picks)));
  process.stdin.resume();`;

/** A process that picks ports, and keeps them until `release` is called. */
function startPicker(): { picked: Promise<number[]>; release: () => void } {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PICKER], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const picked = new Promise<number[]>((resolve, reject) => {
    createInterface(child.stdout).once('line', (line) => resolve(JSON.parse(line) as number[]));
    child.once('exit', (code) => reject(new Error(`picker exited with ${code}`)));
  });
  return { picked, release: () => child.stdin.end() };
}

test('never picks a port that a living process has picked', async () => {
  const pickers = [startPicker(), startPicker()];
  const picked = (await Promise.all(pickers.map((picker) => picker.picked))).flat();
  pickers.forEach((picker) => picker.release());
  expect(picked).toHaveLength(2 * PICKS);
  expect(new Set(picked).size).toBe(2 * PICKS);
});
