import { spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** A server of this machine, as those who use it see it. */
export interface RunningServer {
  url: string;
  /** Undefined for a server that somebody else runs. */
  process?: ServerProcess;
  stop(): Promise<void>;
}

export interface Launch {
  command: string;
  args: string[];
  /** What the kernel sends the server when the process that started it ends, kill -9 included. */
  lastWill: 'INT' | 'TERM' | 'KILL';
  /** Command that runs the server as another user. */
  as?: string[];
  logFile: string;
  input?: string;
  env?: NodeJS.ProcessEnv;
}

export interface ServerProcess {
  readonly pid: number;
  /** Resolves when the process has ended, with how. */
  readonly ended: Promise<string>;
  hasEnded(): boolean;
  /** Sends the signal, and SIGKILL after the grace. */
  stop(signal: NodeJS.Signals, graceMs: number): Promise<void>;
}

export function launch(options: Launch): ServerProcess {
  const log = openSync(options.logFile, 'a', 0o600);
  const stdio: StdioOptions = [options.input === undefined ? 'ignore' : 'pipe', log, log];
  // The parent-death signal does not survive a change of user, so it is set after that.
  const [command, ...args] = [
    ...(options.as ?? []),
    ...tether(options.lastWill),
    options.command,
    ...options.args,
  ];
  const child = spawn(command!, args, {
    stdio,
    env: options.env ?? process.env,
    // Ctrl-C at the terminal reaches the whole group: servers stop last, when their user says so.
    detached: true,
  });
  closeSync(log);
  if (options.input !== undefined) child.stdin!.end(options.input);
  return watch(child);
}

function watch(child: ChildProcess): ServerProcess {
  let over = false;
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ? `ended by ${signal}` : `exit code ${code}`));
  }).then((how) => {
    over = true;
    return how;
  });
  return {
    pid: child.pid ?? 0,
    ended,
    hasEnded: () => over,
    async stop(signal, graceMs) {
      if (over) return;
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

let setprivWorks: boolean | undefined;

function tether(signal: Launch['lastWill']): string[] {
  setprivWorks ??= works(['setpriv', '--pdeathsig', 'TERM', 'true']);
  return setprivWorks ? ['setpriv', '--pdeathsig', signal] : [];
}

export function works([command, ...args]: string[]): boolean {
  return spawnSync(command!, args, { stdio: 'ignore' }).status === 0;
}

export function lastLines(file: string, count: number): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n');
  } catch {
    return '(no log)';
  }
}

/** A port that was free a moment ago; whoever binds it must still be ready to lose the race. */
export function freePort(): Promise<number> {
  return bind(0);
}

export async function portIsFree(port: number): Promise<boolean> {
  return bind(port).then(
    () => true,
    () => false,
  );
}

function bind(port: number): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const bound = (server.address() as { port: number }).port;
      server.close(() => resolve(bound));
    });
  });
}

/** Tries until the attempt succeeds, the server ends, or the time is over. */
export async function untilReady(
  server: ServerProcess,
  attempt: () => Promise<void>,
  limitMs: number,
): Promise<void> {
  const end = Date.now() + limitMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (server.hasEnded()) throw new Error(await server.ended, { cause: error });
      if (Date.now() > end) throw new Error(`not ready after ${limitMs / 1000} s`, { cause: error });
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
