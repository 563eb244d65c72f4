import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { nextOutput } from '../../support/program.js';

type Program = ChildProcessByStdio<Writable, Readable, null>;
const started: Program[] = [];

async function program(stop: string, options = '{ exitWithParent: true }', more = ''): Promise<Program> {
  const source = `
    import { onShutdown } from '@gwk/core/process/lifecycle';
    onShutdown(${stop}, ${options});
    setInterval(() => {}, 1000);
    ${more}
    console.log('up');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  started.push(child);
  await nextOutput(child);
  return child;
}

const exitCode = async (child: Program): Promise<unknown> =>
  child.exitCode ?? ((await once(child, 'exit')) as unknown[])[0];

async function outputOf(child: Program): Promise<string> {
  let text = '';
  for await (const chunk of child.stdout) text += String(chunk);
  return text.trim();
}

afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

describe('onShutdown', () => {
  test.each([
    ['SIGTERM', (child: Program) => child.kill('SIGTERM')],
    ['SIGINT', (child: Program) => child.kill('SIGINT')],
    ['parent-exited', (child: Program) => child.stdin.end()],
  ])('%s runs the stop function and exits with 0', async (cause, act) => {
    const child = await program('async (cause) => console.log(cause)');
    const output = outputOf(child);
    act(child);
    expect(await exitCode(child)).toBe(0);
    expect(await output).toBe(cause);
  });

  test('logs an error of the stop function without its data', () => {
    const carried = 'Object.assign(new Error("first line\\n no"), { data: "what people wrote" })';
    const { status, stderr } = run(`
      onShutdown(async () => { throw ${carried} }, { exitWithParent: false });
      process.kill(process.pid, 'SIGTERM');
      setInterval(() => {}, 1000);`);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^shutdown failed: \{"type":"Error".*\n$/);
    expect(stderr).not.toContain('what people wrote');
  });

  test('ignores the end of standard input without exitWithParent', async () => {
    const child = await program(
      `(cause) => console.log(cause)`,
      '{ exitWithParent: false }',
      `process.stdin.on('end', () => console.log('input is over')).resume();`,
    );
    const over = once(child.stdout, 'data');
    child.stdin.end();
    expect(String(await over)).toBe('input is over\n');
    const output = outputOf(child);
    child.kill('SIGTERM');
    expect(await exitCode(child)).toBe(0);
    expect(await output).toBe('SIGTERM');
  });
});

/** Runs the source until it exits. */
function run(source: string): { status: number | null; stdout: string; stderr: string } {
  const imports = `
    import { exitOnUncaughtError, onShutdown } from '@gwk/core/process/lifecycle';
    import { exitProcess } from '@gwk/engine-pod/exit-process';
    import { createLogger, synchronousStdout } from '@gwk/core/process/log';`;
  return spawnSync(process.execPath, ['--input-type=module', '--eval', imports + source], {
    encoding: 'utf8',
  });
}

describe('exitOnUncaughtError', () => {
  const carries = (message: string) =>
    `Object.assign(new Error(${JSON.stringify(message)}), { code: 'ECODE', data: { jid: '5511987654321', said: 'what people wrote' } })`;

  test.each([
    [
      'thrown',
      `setTimeout(() => { throw ${carries('a failure')} })`,
      { type: 'Error', message: 'a failure' },
    ],
    ['rejected', `void Promise.reject(${carries('a failure')})`, { type: 'Error', message: 'a failure' }],
    ['not an Error', `void Promise.reject('what people wrote')`, { type: 'string' }],
  ])('logs one line and exits for an error that is %s', (_, failing, err) => {
    const { status, stdout, stderr } = run(`
      exitOnUncaughtError(createLogger('engine', 'error'));
      ${failing};
      setInterval(() => {}, 1000);`);
    expect([status, stderr]).toEqual([1, '']);
    expect(JSON.parse(stdout)).toMatchObject({ level: 'fatal', program: 'engine', err });
    for (const word of ['5511987654321', 'what people wrote']) expect(stdout).not.toContain(word);
  });

  test.each([
    ['process.exit', `createLogger('api', 'error')`],
    ['exitProcess', `createLogger('engine', 'error', synchronousStdout()), exitProcess`],
  ])('writes the line before %s, even with busy threads', (_, parameters) => {
    const { status, stdout } = run(`
      import { pbkdf2 } from 'node:crypto';
      for (let n = 0; n < 8; n++) pbkdf2('a', 'b', 500_000, 64, 'sha512', () => {});
      exitOnUncaughtError(${parameters});
      throw new Error('a failure');`);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ level: 'fatal', err: { message: 'a failure' } });
  });
});
