import { spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';

const SHOWN_LINES = 20;

/** A server of this machine, as those who use it see it. */
export interface RunningServer {
  url: string;
  process: ServerProcess;
  stop(): Promise<void>;
}

export interface Launch {
  command: string;
  args: string[];
  /** What the kernel sends it when the process that started it ends, kill -9 included. */
  lastWill?: 'INT' | 'TERM';
  /** Command that runs the server as another user. */
  as?: string[];
  logFile: string;
  /** Text for its standard input, or `held`: it stays open until the process that started it ends. */
  input?: string | { held: true };
  cwd?: string;
  env?: NodeJS.ProcessEnv;
}

export interface ServerProcess {
  readonly pid: number;
  /** Resolves when the process has ended, with how. */
  readonly ended: Promise<string>;
  hasEnded(): boolean;
  /** What it has written since it was started, the last lines of it. */
  endOfLog(): string;
  /** Sends the signal, and SIGKILL after the grace. */
  stop(signal: NodeJS.Signals, graceMs: number): Promise<void>;
}

export function launch(options: Launch): ServerProcess {
  const logged = sizeOf(options.logFile);
  const log = openSync(options.logFile, 'a', 0o600);
  const stdio: StdioOptions = [options.input === undefined ? 'ignore' : 'pipe', log, log];
  // The parent-death signal does not survive a change of user, so it is set after that.
  const tether = options.lastWill ? tetherTo(options.lastWill) : [];
  const [command, ...args] = [...(options.as ?? []), ...tether, options.command, ...options.args];
  const child = spawn(command!, args, {
    stdio,
    env: options.env ?? process.env,
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    // Ctrl-C at a terminal reaches a whole group of processes: this one stops when its user says so.
    detached: true,
  });
  closeSync(log);
  if (typeof options.input === 'string') child.stdin!.end(options.input);
  return watch(child, () => endOf(options.logFile, logged));
}

function watch(child: ChildProcess, endOfLog: () => string): ServerProcess {
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
    endOfLog,
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

function tetherTo(signal: string): string[] {
  setprivWorks ??= works(['setpriv', '--pdeathsig', 'TERM', 'true']);
  return setprivWorks ? ['setpriv', '--pdeathsig', signal] : [];
}

export function works([command, ...args]: string[], cwd?: string): boolean {
  const options = { stdio: 'ignore', env: process.env, ...(cwd !== undefined && { cwd }) } as const;
  return spawnSync(command!, args, options).status === 0;
}

const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

function endOf(file: string, from: number): string {
  const text = sizeOf(file) > from ? readFileSync(file).subarray(from).toString() : '';
  const lines = text.trimEnd().split('\n').slice(-SHOWN_LINES);
  return `the end of ${file}:\n${lines.join('\n') || '(nothing)'}`;
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

/**
 * Tries until the attempt succeeds.
 * @throws Error with the end of the log, where the server ended or the time is over
 */
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
      if (!server.hasEnded() && Date.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 25));
        continue;
      }
      const why = server.hasEnded() ? await server.ended : `not ready after ${limitMs / 1000} s`;
      throw new Error(`${why}; ${server.endOfLog()}`, { cause: error });
    }
  }
}
