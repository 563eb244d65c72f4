import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfigOf } from '@gwk/core/config/load';
import { WORKER_METRICS } from '@gwk/core/metrics/worker';
import type { Logger } from '@gwk/core/process/log';
import type { Registry } from 'prom-client';
import type { workerSettings } from '../config/worker.js';
import { AddressGuard, guardedAgent, readGuardedProxy } from '../platform/address-guard/guard.js';
import { observedGauge } from '../platform/metrics/gauge.js';
import type { JobDependencies } from './dependencies.js';
import { openMedia } from '../media/media.js';
import { Fetcher } from '../media/prepare/fetcher.js';
import { DecodedFiles } from '../media/prepare/decoded-files.js';
import { DecoderQueue } from '../media/prepare/decoder-queue.js';
import { Preparer, type PreparerDeps } from '../media/prepare/preparer.js';
import { expiredMediaJob, mediaFileRemovalJob } from './retention.js';
import { decoderJobs, isDecoderAlive } from '../media/prepare/decoder-client.js';
import { encodesFilm, type JobLimits, type ToolPlan } from '@gwk/core/decoder/jobs';
import { removeLeftBehind } from '@gwk/core/decoder/left-behind';
import { DecoderProcess, requireDecoder, SOCKET_PREFIX } from '../media/prepare/decoder-process.js';
import { Tools, type RunJob } from '../media/prepare/tools.js';

type Config = ConfigOf<typeof workerSettings>;

const PREFIX = 'gwk-decoding-';
const PREPARE_EVERY_MS = 100;
const CONNECT_MS = 10_000;
/** Below the scrape timeout of Prometheus. */
const SCRAPE_CHECK_MS = 1_000;
const USER_AGENT = 'gwk-media/1';

interface Deps extends JobDependencies, Pick<PreparerDeps, 'onResult'> {
  onDecoded: (seconds: number, isOver: boolean) => void;
  registry: Registry;
}

/**
 * Media work of a worker: prepares messages and expires files.
 * @throws ConfigError, if the worker has no decoder
 */
export async function openWorkerMedia(config: Config, deps: Deps) {
  if (config.decoder === undefined) requireDecoder();
  const { store, files, watch } = await openMedia(config, deps);
  const guard = new AddressGuard({
    loopback: config.loopbackMedia,
    forbiddenRanges: config.forbiddenRanges,
    plainHttp: true,
  });
  const dispatcher = guardedAgent(guard, { connectTimeoutMs: CONNECT_MS, proxy: readGuardedProxy(config) });
  await removeLeftBehind(PREFIX);
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  const { runJob, ...decoder } = await openDecoder(config, deps);
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
    // Preparations may wait for the start of the decoder.
    await Promise.all([preparer.stop(), decoder.stop()]);
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

interface DecoderAccess {
  runJob: RunJob;
  isAlive: (limitMs: number) => Promise<boolean>;
  stop: () => Promise<void>;
}

/** Jobs run in the configured decoder, else in a child process. */
async function openDecoder(config: Config, { log, registry }: Deps): Promise<DecoderAccess> {
  const limitsFor = (plan: ToolPlan): JobLimits => ({
    timeMs: encodesFilm(plan) ? config.mediaConvertMs : config.mediaDecodeMs,
    memoryMb: config.mediaDecodeMb,
  });
  const { decoder: socket } = config;
  const access =
    socket === undefined
      ? await startDecoder(config, log, limitsFor)
      : {
          runJob: decoderJobs(socket, limitsFor),
          isAlive: (limitMs: number) => isDecoderAlive(socket, limitMs),
          stop: () => Promise.resolve(),
        };
  const isUp = async (): Promise<number> => Number(await access.isAlive(SCRAPE_CHECK_MS));
  observedGauge(registry, WORKER_METRICS.decoderUp, isUp);
  return access;
}

async function startDecoder(
  { ffmpeg, logLevel }: Config,
  log: Logger,
  limitsFor: (plan: ToolPlan) => JobLimits,
): Promise<DecoderAccess> {
  await removeLeftBehind(SOCKET_PREFIX);
  const decoder = new DecoderProcess({ ffmpeg, logLevel, log });
  return {
    isAlive: (limitMs) => decoder.isAlive(limitMs),
    stop: () => decoder.stop(),
    async runJob(job, jobFolder, signal, onDecoding) {
      const socket = await decoder.started(signal);
      return decoderJobs(socket, limitsFor)(job, jobFolder, signal, onDecoding);
    },
  };
}
