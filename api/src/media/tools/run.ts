import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import pLimit, { type LimitFunction } from 'p-limit';
import { FileRefused, ToolNotStarted, type ToolAnswer, type ToolJob, type ToolRefusal } from './jobs.js';

interface ToolLimits {
  timeMs: number;
  memoryMb: number;
  concurrency: number;
  ffmpeg: string | null;
}

const TOOL = fileURLToPath(new URL('../../../bin/media-tool.js', import.meta.url));
const MAX_ANSWER_BYTES = 200_000;
const MEMORY_CHECK_MS = 50;
const HEAP_MB = 128;
const BLOCK = 512;
const KB = 1024;

/**
 * Runs tools in processes of their own with limits of concurrency, time, memory and output. A tool at a limit is killed with
 * its child processes. A tool gets a folder and none of this process's environment.
 */
export class Tools {
  readonly #queue: LimitFunction;

  constructor(private readonly limits: ToolLimits) {
    this.#queue = pLimit(limits.concurrency);
  }

  /** @throws FileRefused, also if the tool crashes or is killed at a limit; ToolNotStarted; the signal's reason */
  async run(job: ToolJob, folder: string, signal: AbortSignal): Promise<ToolAnswer> {
    if (this.limits.ffmpeg === null && (job.tool === 'audio' || job.tool === 'video')) {
      throw new Error('ffmpeg not found: install it, or set GWK_WORKER_FFMPEG');
    }
    const answer = await this.#queue(() => {
      signal.throwIfAborted();
      return this.#runNow(job, folder, signal);
    });
    if ('refused' in answer) throw new FileRefused(answer.refused);
    if ('notRun' in answer) throw new ToolNotStarted(answer.notRun);
    return answer;
  }

  async #runNow(job: ToolJob, folder: string, signal: AbortSignal): Promise<ToolAnswer | ToolRefusal> {
    const { timeMs, memoryMb } = this.limits;
    const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MB}`, TOOL, JSON.stringify(job)], {
      cwd: folder,
      env: this.#environment(folder),
      // Its own process group, to kill it with its children. Its stdin ends with this process.
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    let text = '';
    let ending: Error | undefined;
    const end = (reason: Error): void => {
      ending ??= reason;
      killGroup(child);
    };
    const abort = (): void => end(signal.reason as Error);
    signal.addEventListener('abort', abort);
    const clock = setTimeout(() => end(new FileRefused('decoding the file takes too long')), timeMs);
    const watch = setInterval(() => {
      if (residentKb(child.pid) > memoryMb * KB)
        end(new FileRefused('decoding the file takes too much memory'));
    }, MEMORY_CHECK_MS);
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.length > MAX_ANSWER_BYTES) end(new FileRefused('decoding the file writes too much output'));
    });
    child.on('error', (error) => (ending ??= error));
    await new Promise((resolve) => child.on('close', resolve));
    clearTimeout(clock);
    clearInterval(watch);
    signal.removeEventListener('abort', abort);
    // Its child processes may still run.
    killGroup(child);
    if (ending) throw ending;
    try {
      return JSON.parse(text) as ToolAnswer;
    } catch {
      throw new FileRefused('the file cannot be decoded');
    }
  }

  #environment(folder: string): NodeJS.ProcessEnv {
    const { timeMs, memoryMb, ffmpeg } = this.limits;
    return {
      PATH: process.env['PATH'] ?? '',
      TMPDIR: folder,
      HOME: folder,
      MEDIA_FFMPEG: ffmpeg ?? '',
      MEDIA_MEMORY_KB: String(memoryMb * KB),
      MEDIA_SECONDS: String(Math.ceil(timeMs / 1000) + 1),
      MEDIA_FILE_BLOCKS: String(Math.ceil(MAX_MEDIA_BYTES / BLOCK) + 1),
    };
  }
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The whole group has exited.
  }
}

/** 0 if the system does not report it. */
function residentKb(pid: number | undefined): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
