import { existsSync } from 'node:fs';

/**
 * Ends this process with an exit code, whatever V8 is doing. `process.exit` waits for V8's threads, and one of them that
 * compiles may be waiting for this thread to collect garbage: then neither ever ends (nodejs/node#54918). With a heap
 * that is kept small that is likely enough to happen. So the process becomes another program, which the kernel waits for
 * nobody to do: a Node that has nothing to do but exit. Nothing that listens for `exit` is called. One that is to write a
 * profile writes it at its exit, and so exits as others do.
 */
export function exitProcess(code: number): never {
  // Where it cannot become another one Node aborts, which is an end, too.
  if (process.execve !== undefined && existsSync(process.execPath) && !isProfiled()) {
    const environment = { ...process.env };
    delete environment['NODE_OPTIONS'];
    process.execve(process.execPath, [process.argv0, '--eval', `process.exit(${code})`], environment);
  }
  process.exit(code);
}

const isProfiled = (): boolean =>
  /--(cpu|heap)-prof/.test([...process.execArgv, process.env['NODE_OPTIONS']].join(' '));
