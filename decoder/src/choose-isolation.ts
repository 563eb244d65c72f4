import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@gwk/core/log';
import { buildIsolation, describeHost, ISOLATION_KINDS, type Isolation } from './isolation.js';
import { runJobProcess, type JobPrograms } from './job-process.js';
import type { ToolPlan } from '@gwk/core/decoder/jobs';

/** A PNG of one pixel. */
export const TRIAL_PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVQImWP4//8/AAX+Av5Y8msOAAAAAElFTkSuQmCC',
  'base64',
);
/** 0.1 s of silence: 16 bit, mono, 8 kHz. */
export const TRIAL_SOUND = Buffer.concat([
  Buffer.from('UklGRmQGAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YUAGAAA=', 'base64'),
  Buffer.alloc(1600),
]);
const LIMITS = { timeMs: 30_000, memoryMb: 1024 };

/**
 * Chooses the strongest isolation with which this machine decodes a picture, and a sound if there is an ffmpeg. Logs it.
 * @param folder parent of the folders of jobs
 */
export async function chooseIsolation(
  ffmpeg: string | null,
  folder: string,
  log: Logger,
): Promise<Isolation> {
  const host = describeHost(ffmpeg);
  for (const kind of ISOLATION_KINDS) {
    const isolation = buildIsolation(kind, host);
    if (kind !== 'none' && !(await works(ffmpeg, isolation, folder))) continue;
    const fields = { isolation: kind, user: isolation.user };
    if (kind === 'landlock' || kind === 'namespaces') log.info(fields, 'decoders are isolated');
    else log.warn(fields, 'decoders are not fully isolated: see docs/media.md for what this machine lacks');
    return isolation;
  }
  throw new Error('unreachable');
}

async function works(ffmpeg: string | null, isolation: Isolation, folder: string): Promise<boolean> {
  const programs = { ffmpeg, isolation };
  if (!(await decodes({ tool: 'thumbnail' }, TRIAL_PICTURE, folder, programs))) return false;
  const sound = { tool: 'audio', container: 'wav', voice: false, film: false } as const;
  return ffmpeg === null || decodes(sound, TRIAL_SOUND, folder, programs);
}

async function decodes(
  plan: ToolPlan,
  bytes: Buffer,
  parent: string,
  programs: JobPrograms,
): Promise<boolean> {
  const folder = await mkdtemp(join(parent, 'trial-'));
  const job = { ...plan, input: join(folder, 'input'), output: join(folder, 'output') };
  try {
    await writeFile(job.input, bytes, { mode: 0o600 });
    const answer = await runJobProcess(job, folder, new AbortController().signal, { ...LIMITS, ...programs });
    return !('refused' in answer) && !('notRun' in answer);
  } catch {
    return false; // a program is missing, or the system refuses its request
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
