import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { pause, realTime, until } from './wait.js';

/** Root of the source tree. This file runs from test/support (jest) and from test/dist/support (programs). */
const toRoot = import.meta.url.includes('/test/dist/') ? '../../../' : '../../';
export const ROOT = fileURLToPath(new URL(toRoot, import.meta.url));
export const GWK = join(ROOT, 'bin/gwk.js');

export type Environment = Record<string, string>;

/** Environment that a program needs from this process, without settings. */
export function baseEnvironment(): Environment {
  // test/run.js finds leftover processes by TEST_RUN.
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ', 'TEST_RUN'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** Next text that a child prints. Throws if the child exits before it: its test would wait forever. */
export async function nextOutput(child: ChildProcess & { stdout: Readable }): Promise<string> {
  const settled = new AbortController();
  const options = { signal: settled.signal };
  try {
    return await Promise.race([
      once(child.stdout, 'data', options).then(([chunk]) => String(chunk)),
      once(child, 'exit', options).then(([code, signal]) => {
        throw new Error(`the child exited: ${signal ?? `exit code ${code}`}`);
      }),
    ]);
  } finally {
    settled.abort();
  }
}

export interface ProgramOptions {
  name: string;
  /** Defaults to Node. */
  command?: string;
  args: string[];
  env: Environment;
  logFile: string;
  /** Returns false or throws until the program is ready. */
  ready: () => Promise<boolean>;
  /** Restarts the program when it dies (default). */
  supervised?: boolean;
}

export interface Death {
  program: string;
  pid: number;
  code: number | null;
  signal: NodeJS.Signals | null;
}

export const STOP_GRACE_MS = realTime(20_000);
const RESTART_DELAY_MS = 100;
const MAX_DEATHS = 20;

/**
 * A long-running process that is restarted when it dies, as in a cluster. Its standard input is a pipe, so it exits
 * with this process.
 */
export class Program {
  readonly deaths: Death[] = [];
  /** Exits that no test requested. */
  #unasked = 0;
  #asked: ChildProcess | undefined;
  #child: ChildProcess | undefined;
  #supervised = false;
  #stopping = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(readonly options: ProgramOptions) {}

  get name(): string {
    return this.options.name;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<void> {
    this.#stopping = false;
    this.#spawn();
    await this.ready();
    this.#supervised = this.options.supervised ?? true;
  }

  /** Waits until the program is ready. */
  async ready(): Promise<void> {
    try {
      await until(() => this.#child !== undefined && this.options.ready(), {
        what: `${this.name} is ready`,
        giveUp: () => this.#failedStart(),
      });
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${this.lastLines()}`, { cause: error });
    }
  }

  #failedStart(): string | undefined {
    const limit = this.#supervised ? MAX_DEATHS : 1;
    if (this.#child || this.#unasked < limit) return undefined;
    const { code, signal } = this.deaths.at(-1)!;
    return `${this.name} ended (${signal ?? `exit code ${code}`})`;
  }

  /** Sends a signal. After SIGKILL or SIGTERM it returns when the process has exited; the supervision restarts it. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (!child) throw new Error(`${this.name} is not running`);
    const ended = this.#ended;
    if (signal === 'SIGKILL' || signal === 'SIGTERM') this.#asked = child;
    child.kill(signal);
    if (signal === 'SIGKILL' || signal === 'SIGTERM') await ended;
  }

  /** Stops the program for good: with a grace period, then by SIGKILL. */
  async stop(graceMs = STOP_GRACE_MS): Promise<void> {
    this.#stopping = true;
    this.#supervised = false;
    const child = this.#child;
    if (!child) return;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    await this.#ended;
    clearTimeout(timer);
  }

  log(): string {
    return readFileSync(this.options.logFile, 'utf8');
  }

  lastLines(count = 20): string {
    return this.log().trimEnd().split('\n').slice(-count).join('\n');
  }

  #spawn(): void {
    const log = openSync(this.options.logFile, 'a');
    const child = spawn(this.options.command ?? process.execPath, this.options.args, {
      cwd: ROOT,
      env: this.options.env,
      stdio: ['pipe', log, log],
    });
    closeSync(log);
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#onExit({ program: this.name, pid: child.pid ?? 0, code, signal });
        resolve();
      });
    });
  }

  #onExit(death: Death): void {
    if (this.#child !== this.#asked) this.#unasked += 1;
    this.#child = undefined;
    if (this.#stopping) return;
    this.deaths.push(death);
    if (this.#supervised && this.#unasked < MAX_DEATHS) void this.#respawn();
  }

  async #respawn(): Promise<void> {
    await pause(RESTART_DELAY_MS);
    if (!this.#stopping) this.#spawn();
  }
}
