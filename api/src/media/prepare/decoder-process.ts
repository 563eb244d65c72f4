import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { backoffDelay } from '@gwk/core/async/backoff';
import { ConfigError } from '@gwk/core/config/load';
import { ToolNotStarted } from '@gwk/core/decoder/jobs';
import type { Logger } from '@gwk/core/process/log';
import { isDecoderAlive } from './decoder-client.js';

interface DecoderOptions {
  ffmpeg: string | undefined;
  logLevel: string;
  log: Logger;
  /** Replaced by tests. */
  times?: Partial<typeof TIMES>;
}

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const GWK = join(ROOT, 'bin/gwk.js');
const DECODER = join(ROOT, 'decoder/dist/cli.js');
/** Folders of sockets. mkdtemp lets no other user in. */
export const SOCKET_PREFIX = 'gwk-socket-';
const RESTART = { firstMs: 1_000, maxMs: 30_000, jitter: 0 };
/** After a run of this length, the next exit counts as the first. */
const STABLE_MS = 60_000;
const KILL_AFTER_MS = 5_000;
const START_POLL_MS = 100;
/** Failed checks in a row after which the process is replaced. */
const MAX_FAILURES = 3;
/** Limit of a start, time between checks, and limit of a check. */
const TIMES = { startMs: 120_000, everyMs: 10_000, checkMs: 10_000 };

/** @throws ConfigError if this installation has no decoder, as the image of the worker */
export function requireDecoder(program = DECODER): void {
  if (existsSync(program)) return;
  throw new ConfigError([
    'GWK_WORKER_DECODER: required, because no decoder is installed here. Run `gwk decoder` beside the worker, from the image gwk-decoder; in a source tree, run make build',
  ]);
}

/**
 * `gwk decoder` as a child process, which is started again whenever it exits or no longer answers. It gets no secret, and
 * exits with this process, because its standard input closes.
 */
export class DecoderProcess {
  readonly #stopping = new AbortController();
  readonly #times: typeof TIMES;
  readonly #supervision: Promise<void>;
  #child: ChildProcess | undefined;
  #started: Promise<unknown> = Promise.resolve();
  /** Null: no process runs. */
  #socket: string | null = null;

  constructor(private readonly options: DecoderOptions) {
    this.#times = { ...TIMES, ...options.times };
    this.#supervision = this.#supervise();
  }

  /**
   * Waits while the process starts, and returns the path of its socket.
   * @throws ToolNotStarted, if it waits for its restart; the signal's reason
   */
  async started(signal: AbortSignal): Promise<string> {
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', abort);
    try {
      signal.throwIfAborted();
      await Promise.race([this.#started, aborted]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
    if (this.#socket === null) throw new ToolNotStarted('the decoder is unavailable');
    return this.#socket;
  }

  /** @returns whether the process answers within this time */
  async isAlive(limitMs: number): Promise<boolean> {
    return this.#socket !== null && isDecoderAlive(this.#socket, limitMs);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#child?.kill();
    const kill = setTimeout(() => this.#child?.kill('SIGKILL'), KILL_AFTER_MS);
    await this.#supervision;
    clearTimeout(kill);
  }

  async #supervise(): Promise<void> {
    const { signal } = this.#stopping;
    for (let exits = 1; ; exits++) {
      const startedAt = performance.now();
      const cause = await this.#run().catch((error: Error) => error.message);
      if (signal.aborted) return;
      if (performance.now() - startedAt >= STABLE_MS) exits = 1;
      const delay = backoffDelay(RESTART, exits);
      this.options.log.error({ cause, delay_ms: delay }, 'the decoder exited; restarting');
      await pause(delay, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
    }
  }

  /** Returns how the process ended. Each run has a new folder: another user may have taken the name of a deleted one. */
  async #run(): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), SOCKET_PREFIX));
    const { promise: started, resolve: onStarted } = Promise.withResolvers<void>();
    const over = new AbortController();
    try {
      const socket = join(folder, 'decoder.sock');
      const child = (this.#child = this.#spawn(socket));
      this.#socket = socket;
      this.#started = started;
      const fault = this.#watch(socket, onStarted, over.signal).finally(() => child.kill('SIGKILL'));
      const exit = await new Promise<string>((resolve) => {
        child.once('error', (error) => resolve(error.message));
        child.once('exit', (code, by) => resolve(by ?? `exit code ${code}`));
      });
      over.abort();
      return (await fault) ?? exit;
    } finally {
      this.#socket = null;
      onStarted();
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Returns why the process has to be replaced. Null: it has ended. */
  async #watch(socket: string, onStarted: () => void, over: AbortSignal): Promise<string | null> {
    const { startMs, everyMs, checkMs } = this.#times;
    const startBy = performance.now() + startMs;
    for (let isStarted = false, failures = 0; ;) {
      if (await isDecoderAlive(socket, checkMs)) {
        [isStarted, failures] = [true, 0];
        onStarted();
        // Other workers and cleaners of temporary files delete folders that seem to be left behind.
        await utimes(dirname(socket), new Date(), new Date()).catch(() => undefined);
      } else if (!isStarted && performance.now() >= startBy) {
        return `no start within ${startMs / 1000} s`;
      } else if (isStarted && ++failures === MAX_FAILURES) {
        return 'no answer';
      }
      await pause(isStarted ? everyMs : START_POLL_MS, undefined, { signal: over }).catch(() => undefined);
      if (over.aborted) return null;
    }
  }

  #spawn(socket: string): ChildProcess {
    const { ffmpeg, logLevel } = this.options;
    const { PATH = '', TMPDIR } = process.env;
    return spawn(process.execPath, [GWK, 'decoder'], {
      env: {
        ...{ PATH, GWK_DECODER_SOCKET: socket, GWK_LOG_LEVEL: logLevel, GWK_EXIT_WITH_PARENT: 'on' },
        ...(TMPDIR !== undefined && { TMPDIR }),
        ...(ffmpeg !== undefined && { GWK_DECODER_FFMPEG: ffmpeg }),
      },
      // Ctrl-C in a terminal reaches this process alone.
      detached: true,
      stdio: ['pipe', 'inherit', 'inherit'],
    });
  }
}
