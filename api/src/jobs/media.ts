import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfigOf } from '@gwk/core/config/load';
import type { workerSettings } from '../config/worker.js';
import { AddressGuard, guardedAgent, readGuardedProxy } from '../platform/address-guard/guard.js';
import type { JobDependencies } from './dependencies.js';
import { openMedia } from '../media/media.js';
import { Fetcher } from '../media/prepare/fetcher.js';
import { DecodedFiles } from '../media/prepare/decoded-files.js';
import { DecoderQueue } from '../media/prepare/decoder-queue.js';
import { Preparer, type PreparerDeps } from '../media/prepare/preparer.js';
import { expiredMediaJob, mediaFileRemovalJob } from './retention.js';
import { decoderJobs } from '../media/prepare/decoder-client.js';
import { encodesFilm, type JobLimits, type ToolPlan } from '@gwk/core/decoder/jobs';
import { removeLeftBehind } from '@gwk/core/decoder/left-behind';
import { DecoderProcess } from '../media/prepare/decoder-process.js';
import { Tools, type RunJob } from '../media/prepare/tools.js';

type Config = ConfigOf<typeof workerSettings>;

const PREFIX = 'gwk-decoding-';
const PREPARE_EVERY_MS = 100;
const CONNECT_MS = 10_000;
const USER_AGENT = 'gwk-media/1';

interface Deps extends JobDependencies, Pick<PreparerDeps, 'onResult'> {
  onDecoded: (seconds: number, isOver: boolean) => void;
}

/** Media work of a worker: prepares messages and expires files. */
export async function openWorkerMedia(config: Config, deps: Deps) {
  const { store, files, watch } = await openMedia(config, deps);
  const guard = new AddressGuard({
    loopback: config.loopbackMedia,
    forbiddenRanges: config.forbiddenRanges,
    plainHttp: true,
  });
  const dispatcher = guardedAgent(guard, { connectTimeoutMs: CONNECT_MS, proxy: readGuardedProxy(config) });
  await removeLeftBehind(PREFIX);
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  const { decoder, runJob } = openJobs(config, folder, deps);
  const preparer = new Preparer({
    ...deps,
    files,
    decoded: new DecodedFiles(deps),
    fetcher: new Fetcher({ guard, dispatcher, userAgent: USER_AGENT }),
    tools: new Tools({ concurrency: config.mediaDecoders, runJob }),
    decoders: openDecoderQueue(config, deps),
    folder,
    fetchMs: config.mediaFetchMs,
    options: { concurrency: config.mediaConcurrency },
  });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await preparer.stop();
    await decoder?.stop();
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

function openDecoderQueue(config: Config, { onDecoded, log }: Deps): DecoderQueue {
  return new DecoderQueue({
    decoders: config.mediaDecoders,
    onDecoded({ accountId, seconds, wasOver, isOver }) {
      onDecoded(seconds, wasOver);
      if (isOver && !wasOver) {
        log.info({ account: accountId }, 'account exceeds its decoding budget; its files wait behind others');
      }
    },
  });
}

/** Jobs run in the configured decoder, else in a child process. */
function openJobs(
  config: Config,
  folder: string,
  { log }: Deps,
): { decoder: DecoderProcess | null; runJob: RunJob } {
  const limitsFor = (plan: ToolPlan): JobLimits => ({
    timeMs: encodesFilm(plan) ? config.mediaConvertMs : config.mediaDecodeMs,
    memoryMb: config.mediaDecodeMb,
  });
  if (config.decoder !== undefined) return { decoder: null, runJob: decoderJobs(config.decoder, limitsFor) };
  const socket = join(folder, 'decoder.sock');
  const { ffmpeg, logLevel } = config;
  const decoder = new DecoderProcess({ socket, ffmpeg, logLevel, log });
  const run = decoderJobs(socket, limitsFor);
  return {
    decoder,
    async runJob(...job) {
      await decoder.started();
      return run(...job);
    },
  };
}
