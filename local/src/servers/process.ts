import { spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';

const SHOWN_LINES = 20;

/** A process that was ready. */
export interface Running {
  process: Pick<ServerProcess, 'ended'>;
  stop(): Promise<void>;
}

/** A running server on this machine. */
export interface RunningServer extends Running {
  url: string;
  process: ServerProcess;
}

interface Launch {
  command: string;
  args: string[];
  /** Signal from the kernel when the parent process ends, even by SIGKILL. */
  parentDeathSignal?: 'INT' | 'TERM';
  /** Command prefix that runs the server as another user. */
  as?: string[];
  logFile: string;
  /** Text for its standard input. `held` keeps it open until the parent process ends. */
  input?: string | { held: true };
  cwd?: string;
  env?: NodeJS.ProcessEnv;
}

export interface ServerProcess {
  readonly pid: number;
  /** Resolves with a description when the process has exited. */
  readonly ended: Promise<string>;
  hasEnded(): boolean;
  /** Last lines it has logged since its start. */
  tailLog(): string;
  /** Sends the signal, and SIGKILL after the grace period. */
  stop(signal: NodeJS.Signals, graceMs: number): Promise<void>;
}

export function launch(options: Launch): ServerProcess {
  const logged = readSize(options.logFile);
  const log = openSync(options.logFile, 'a', 0o600);
  const stdio: StdioOptions = [options.input === undefined ? 'ignore' : 'pipe', log, log];
  // Set after the change of user, which would reset it.
  const deathSignal = options.parentDeathSignal ? buildDeathSignal(options.parentDeathSignal) : [];
  const [command, ...args] = [...(options.as ?? []), ...deathSignal, options.command, ...options.args];
  const child = spawn(command!, args, {
    stdio,
    env: options.env ?? process.env,
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    // Own process group, so that Ctrl-C does not reach it directly.
    detached: true,
  });
  closeSync(log);
  if (typeof options.input === 'string') child.stdin!.end(options.input);
  return watch(child, () => readTail(options.logFile, logged));
}

function watch(child: ChildProcess, tailLog: () => string): ServerProcess {
  let exited = false;
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ? `ended by ${signal}` : `exit code ${code}`));
  }).then((how) => {
    exited = true;
    return how;
  });
  return {
    pid: child.pid ?? 0,
    ended,
    hasEnded: () => exited,
    tailLog,
    async stop(signal, graceMs) {
      if (exited) return;
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

let setprivWorks: boolean | undefined;

function buildDeathSignal(signal: string): string[] {
  setprivWorks ??= commandSucceeds(['setpriv', '--pdeathsig', 'TERM', 'true']);
  return setprivWorks ? ['setpriv', '--pdeathsig', signal] : [];
}

export function commandSucceeds([command, ...args]: string[], cwd?: string): boolean {
  const options = { stdio: 'ignore', env: process.env, ...(cwd !== undefined && { cwd }) } as const;
  return spawnSync(command!, args, options).status === 0;
}

const readSize = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

function readTail(file: string, from: number): string {
  const text = readSize(file) > from ? readFileSync(file).subarray(from).toString() : '';
  const lines = text.trimEnd().split('\n').slice(-SHOWN_LINES);
  return `last lines of ${file}:\n${lines.join('\n') || '(empty)'}`;
}

/** Returns a currently free port. Another process may take it before the caller binds it. */
export function findFreePort(): Promise<number> {
  return bind(0);
}

export async function isPortFree(port: number): Promise<boolean> {
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

interface Start extends Launch {
  /** Rejects while the process is not ready. */
  ready: (process: ServerProcess) => Promise<void>;
  limitMs: number;
  stopSignal: NodeJS.Signals;
  graceMs: number;
  /** Cancels the start. */
  signal?: AbortSignal;
}

/** Launches a process and waits until it is ready. If that fails, stops it and throws. */
export async function start({ ready, limitMs, stopSignal, graceMs, signal, ...options }: Start) {
  const process = launch(options);
  const stop = () => process.stop(stopSignal, graceMs);
  const cancel = () => void stop();
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    await waitUntilReady(process, () => ready(process), limitMs);
  } catch (error) {
    await stop();
    throw error;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
  return { process, stop };
}

/**
 * Retries the attempt until it succeeds.
 * @throws Error with the end of the log, if the server has exited or the time is over
 */
export async function waitUntilReady(
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
      throw new Error(`${why}; ${server.tailLog()}`, { cause: error });
    }
  }
}
