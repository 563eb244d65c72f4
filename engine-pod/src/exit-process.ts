import { existsSync, writeSync } from 'node:fs';

/**
 * Exits this process even when V8 is stuck. `process.exit` waits for V8's threads, and a compiling thread may wait for
 * this thread to collect garbage, so neither ever ends (nodejs/node#54918). A small heap makes that likely.
 *
 * execve replaces the process by a Node that only exits; the kernel waits for no thread. `exit` listeners do not run. A
 * profiled process writes its profile at exit, and so exits in the ordinary way
 * (docs/decisions/0023-exit-engines-with-execve.md).
 */
export function exitProcess(code: number): never {
  if (process.permission !== undefined && !isProfiled()) killProcess(code);
  // If execve fails, Node aborts, which also ends the process.
  if (process.execve !== undefined && existsSync(process.execPath) && !isProfiled()) {
    const environment = { ...process.env };
    delete environment['NODE_OPTIONS'];
    process.execve(process.execPath, [process.argv0, '--eval', `process.exit(${code})`], environment);
  }
  process.exit(code);
}

/** On one machine, the permission model keeps an engine from calling execve. It reports its exit code to the operator. */
function killProcess(code: number): void {
  try {
    writeSync(1, `${JSON.stringify({ exit_code: code })}\n`);
  } catch {
    // The operator has exited.
  }
  process.kill(process.pid, 'SIGKILL');
}

const isProfiled = (): boolean =>
  /--(cpu|heap)-prof/.test([...process.execArgv, process.env['NODE_OPTIONS']].join(' '));
