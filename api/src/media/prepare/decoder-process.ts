import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { backoffDelay } from '@gwk/core/async/backoff';
import type { Logger } from '@gwk/core/process/log';

interface DecoderOptions {
  /** Path of the socket. Others than this process may not reach its folder. */
  socket: string;
  ffmpeg: string | undefined;
  logLevel: string;
  log: Logger;
}

const GWK = fileURLToPath(new URL('../../../../bin/gwk.js', import.meta.url));
const RESTART = { firstMs: 1_000, maxMs: 30_000, jitter: 0 };
/** After a run of this length, the next exit counts as the first. */
const STABLE_MS = 60_000;
const KILL_AFTER_MS = 5_000;

/**
 * `gwk decoder` as a child process, which is started again whenever it exits. It gets no secret, and exits with this process,
 * because its standard input closes.
 */
export class DecoderProcess {
  readonly #stopping = new AbortController();
  readonly #supervision: Promise<void>;
  #child: ChildProcess | undefined;
  #started: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: DecoderOptions) {
    this.#supervision = this.#supervise();
  }

  /** Waits while the process starts. Returns at once while it waits for its restart: a job then finds no decoder. */
  started(): Promise<unknown> {
    return this.#started;
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
      const cause = await this.#run();
      if (signal.aborted) return;
      if (performance.now() - startedAt >= STABLE_MS) exits = 1;
      const delay = backoffDelay(RESTART, exits);
      this.options.log.error({ cause, delay_ms: delay }, 'the decoder exited; restarting');
      await pause(delay, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
    }
  }

  /** Returns how the process ended. */
  #run(): Promise<string> {
    const { socket, ffmpeg, logLevel } = this.options;
    const { PATH = '', TMPDIR } = process.env;
    const child = spawn(process.execPath, [GWK, 'decoder'], {
      env: {
        ...{ PATH, GWK_DECODER_SOCKET: socket, GWK_LOG_LEVEL: logLevel, GWK_EXIT_WITH_PARENT: 'on' },
        ...(TMPDIR !== undefined && { TMPDIR }),
        ...(ffmpeg !== undefined && { GWK_DECODER_FFMPEG: ffmpeg }),
      },
      // Ctrl-C in a terminal reaches this process alone.
      detached: true,
      stdio: ['pipe', 'inherit', 'inherit', 'ipc'],
    });
    this.#child = child;
    const ended = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, by) => resolve(by ?? `exit code ${code}`));
    });
    this.#started = Promise.race([ended, new Promise((resolve) => child.once('message', resolve))]);
    return ended;
  }
}
