import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import type { Logger } from '@gwk/core/process/log';
import type { Isolation } from './isolation.js';
import { MAX_ANSWER_BYTES, parseToolAnswer } from '@gwk/core/decoder/answers';
import { findExcess } from './job-usage.js';
import { parseProgress } from './progress.js';
import {
  FileRefused,
  needsFfmpeg,
  type JobLimits,
  STARTED,
  type ToolAnswer,
  type ToolJob,
  type ToolRefusal,
} from '@gwk/core/decoder/jobs';

export interface JobPrograms {
  ffmpeg: string | null;
  isolation: Isolation;
  /** Gets the progress of long conversions. */
  log?: Logger;
}

const TOOL = fileURLToPath(new URL('../bin/tool.js', import.meta.url));
/**
 * Ends a job that spins after this process was killed. Its threads use at most this much processor time within the limit
 * of time.
 */
const LIMIT_CPU = ['sh', '-c', 'ulimit -t "$0" 2>/dev/null; exec "$@"'];
const CHECK_MS = 50;
const HEAP_MB = 128;
const BLOCK = 512;
const KB = 1024;

/**
 * Runs a job in a process of its own, isolated and with limits of time, memory, disk space and output. At a limit it is killed with its
 * child processes. It gets a folder and none of this process's environment.
 * @throws FileRefused, also if the job crashes or is killed at a limit; the signal's reason
 */
export async function runJobProcess(
  job: ToolJob,
  folder: string,
  signal: AbortSignal,
  { timeMs, memoryMb, ...programs }: JobLimits & JobPrograms,
): Promise<ToolAnswer | ToolRefusal> {
  if (programs.ffmpeg === null && needsFfmpeg(job)) {
    return { notRun: 'there is no ffmpeg' };
  }
  signal.throwIfAborted();
  const child = start(job, folder, { timeMs, memoryMb, ...programs });
  if (child.pid === undefined) {
    const [{ code }] = (await once(child, 'error')) as [NodeJS.ErrnoException];
    return { notRun: `the process did not start: ${code}` };
  }
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
    const excess = findExcess(child.pid, folder, memoryMb);
    if (excess !== null) end(new FileRefused(excess));
  }, CHECK_MS);
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    logProgress(chunk, job, programs.log);
    if (text.length > MAX_ANSWER_BYTES) end(new FileRefused('decoding the file writes too much output'));
  });
  child.on('error', (error) => (ending ??= error));
  const endedBy = await new Promise((resolve) => child.on('close', (_, by) => resolve(by)));
  clearTimeout(clock);
  clearInterval(watch);
  signal.removeEventListener('abort', abort);
  // Its child processes may still run.
  killGroup(child);
  if (ending) throw ending;
  // Faults of this machine: a program of the isolation failed, or a stop of the service reached the process.
  if (!text.startsWith(STARTED) || endedBy === 'SIGTERM')
    return { notRun: 'the process did not start or was stopped' };
  // Lines of progress come before the answer.
  return parseToolAnswer(text.slice(text.lastIndexOf('\n')));
}

/** A line that arrives in two parts is not logged. */
function logProgress(chunk: string, { tool, message }: ToolJob, log: Logger | undefined): void {
  const progress = log && parseProgress(chunk.trim());
  if (progress) log.info({ message, tool, ...progress }, 'converting a film');
}

function start(
  job: ToolJob,
  folder: string,
  { isolation, ...settings }: JobLimits & JobPrograms,
): ChildProcess {
  const { user, prefix } = isolation;
  if (user !== null) for (const path of [folder, job.input]) chownSync(path, user, user);
  const node = [process.execPath, `--max-old-space-size=${HEAP_MB}`, TOOL, JSON.stringify(job)];
  const seconds = String(countSeconds(settings.timeMs) * availableParallelism());
  const [command, ...args] = [...LIMIT_CPU, seconds, ...prefix(folder), ...node];
  return spawn(command!, args, {
    cwd: folder,
    env: buildEnvironment(folder, settings),
    // Its own process group, to kill it with its children. Its stdin ends with this process.
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
}

/** Processor time that one thread cannot use before the limit of time. */
const countSeconds = (timeMs: number): number => Math.ceil(timeMs / 1000) + 1;

function buildEnvironment(
  folder: string,
  { timeMs, memoryMb, ffmpeg }: JobLimits & Pick<JobPrograms, 'ffmpeg'>,
): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'] ?? '',
    TMPDIR: folder,
    HOME: folder,
    // Node refuses to start if it may not read the file of the system.
    OPENSSL_CONF: '/dev/null',
    MEDIA_FFMPEG: ffmpeg ?? '',
    MEDIA_MEMORY_KB: String(memoryMb * KB),
    MEDIA_SECONDS: String(countSeconds(timeMs)),
    MEDIA_FILE_BLOCKS: String(Math.ceil(MAX_MEDIA_BYTES / BLOCK) + 1),
  };
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The whole group has exited.
  }
}
