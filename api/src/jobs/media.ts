import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfigOf } from '@gwk/core/config/load';
import type { workerSettings } from '@gwk/core/config/worker';
import { AddressGuard, guardedAgent } from '../platform/address-guard/guard.js';
import type { JobDependencies } from './dependencies.js';
import { openMedia } from '../media/media.js';
import { Fetcher } from '../media/prepare/fetcher.js';
import { Preparer, type PreparerDeps } from '../media/prepare/preparer.js';
import { expiredMediaJob, mediaFileRemovalJob } from './retention.js';
import { findFfmpeg, isUsable } from '../media/tools/find-ffmpeg.js';
import { Tools } from '../media/tools/run.js';

type Config = ConfigOf<typeof workerSettings>;

const PREFIX = 'gwk-decoding-';
const PREPARE_EVERY_MS = 100;
const CONNECT_MS = 10_000;
/** Longer than any preparation takes; older folders were left by a killed worker. */
const LEFT_BEHIND_MS = 3_600_000;
const USER_AGENT = 'gwk-media/1';

type Deps = JobDependencies & Pick<PreparerDeps, 'onResult'>;

/** Media work of a worker: prepares messages and expires files. */
export async function openWorkerMedia(config: Config, deps: Deps) {
  const { store, files, watch } = await openMedia(config, deps);
  const guard = new AddressGuard({
    loopback: config.loopbackMedia,
    forbiddenRanges: config.forbiddenRanges,
    plainHttp: true,
  });
  const dispatcher = guardedAgent(guard, { connectTimeoutMs: CONNECT_MS });
  await removeLeftBehind();
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  const ffmpeg = await usableFfmpeg(config.ffmpeg, deps.log);
  const preparer = new Preparer({
    ...deps,
    files,
    fetcher: new Fetcher({ guard, dispatcher, userAgent: USER_AGENT }),
    tools: new Tools({
      timeMs: config.mediaDecodeMs,
      memoryMb: config.mediaDecodeMb,
      concurrency: config.mediaDecoders,
      ffmpeg,
    }),
    folder,
    fetchMs: config.mediaFetchMs,
    options: { concurrency: config.mediaConcurrency, decodeMs: config.mediaDecodeMs },
  });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await preparer.stop();
    await dispatcher.destroy();
    store.close();
    await rm(folder, { recursive: true, force: true });
  };
  const prepare = { name: 'prepare', everyMs: PREPARE_EVERY_MS, pass: () => preparer.pass() };
  return {
    watch,
    jobs: [prepare, expiredMediaJob(deps), mediaFileRemovalJob(deps, store)],
    stop: () => (stopped ??= stop()),
  };
}

/** Without a working ffmpeg the preparer gets none, and messages wait: a broken one would fail every file. */
async function usableFfmpeg(
  configured: string | undefined,
  log: JobDependencies['log'],
): Promise<string | null> {
  const found = findFfmpeg(configured);
  if (found !== null && (await isUsable(found))) return found;
  log.error(
    { ffmpeg: found },
    found === null
      ? 'there is no ffmpeg: install it, or set GWK_WORKER_FFMPEG; messages with sounds and films wait 15 minutes, then fail'
      : 'this ffmpeg does not run, or has no libopus: set GWK_WORKER_FFMPEG to one that does; messages with sounds and films wait 15 minutes, then fail',
  );
  return null;
}

async function removeLeftBehind(): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(PREFIX));
  for (const name of names) {
    const path = join(tmpdir(), name);
    const seen = await stat(path).catch(() => null);
    if (seen === null || Date.now() - seen.mtimeMs < LEFT_BEHIND_MS) continue;
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}
