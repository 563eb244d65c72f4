import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@gwk/core/process/log';
import { buildIsolation, describeHost, type Isolation } from './isolation.js';
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
 * Chooses Landlock if this machine then decodes a picture, and a sound if there is an ffmpeg. Logs the choice.
 * @param folder parent of the folders of jobs
 */
export async function chooseIsolation(
  ffmpeg: string | null,
  folder: string,
  log: Logger,
): Promise<Isolation> {
  const host = describeHost(ffmpeg);
  const landlock = buildIsolation('landlock', host);
  if (await works(ffmpeg, landlock, folder)) {
    log.info({ isolation: landlock.kind, user: landlock.user }, 'decoders are isolated');
    return landlock;
  }
  log.warn({ isolation: 'none' }, 'decoders are not isolated: see docs/media.md for what this machine lacks');
  return buildIsolation('none', host);
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
