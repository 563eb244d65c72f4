import type { ConfigOf } from '@gwk/core/config/load';
import { workerSettings } from '@gwk/core/config/worker';
import type { Logger } from '@gwk/core/log';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { parseEncryptionKeys, Sealer } from '@gwk/core/encryption';
import { heartbeatLiveness } from '../instances/availability/heartbeat-liveness.js';
import { prometheusLiveness } from '../instances/availability/prometheus-liveness.js';
import { tracing } from '@gwk/core/tracing/tracing';
import { openDatabase } from '../database/database.js';
import { startHealthListener } from '../probes/probes.js';
import { interactiveStatusJob } from '../jobs/interactive-status.js';
import { Acceptor } from '../messages/send/acceptor.js';
import { MediaLinks } from '../media/links.js';
import { openWorkerMedia } from '../jobs/media.js';
import { messageMetrics } from '../platform/metrics/messages.js';
import { storeMetrics } from '../probes/store-metrics.js';
import { SendNotifier } from '../messages/send-notifier.js';
import { AddressGuard, guardedAgent } from '../platform/address-guard/guard.js';
import { checkConnectionBudget } from '../database/connection-budget.js';
import { watchEviction } from '../platform/redis-eviction.js';
import { closeRedis, openRedis, type Redis } from '../platform/redis.js';
import { readConfig, readEnvironmentPolicy, runProgram, waitForUsableDatabase } from './startup.js';
import { postgresReaders } from '../jobs/backlog.js';
import { Deliveries, type DeliveryDeps, type DeliveryOptions } from '../webhooks/delivery/deliveries.js';
import { WorkerMetrics } from '../jobs/metrics.js';
import { abandonDeliveriesJob, resendDeliveriesJob } from '../jobs/deliveries.js';
import { auditLogJob } from '../jobs/audit-log.js';
import {
  expireMessagesJob,
  optOutsJob,
  refuseMessagesJob,
  unconfirmedSendsJob,
} from '../jobs/waiting-messages.js';
import { pairingJob } from '../jobs/pairing.js';
import { partitionsJob } from '../jobs/partitions.js';
import { releaseScheduledJob } from '../jobs/release-scheduled.js';
import { retentionJob } from '../jobs/retention.js';
import { renotifyJob } from '../jobs/renotify.js';
import {
  createLivenessReader,
  Observer,
  unresponsiveEnginesJob,
  type LivenessReader,
} from '../jobs/unresponsive-engines.js';
import { backoff, loop, type Job } from '../platform/job.js';
import type { JobDependencies } from '../jobs/dependencies.js';

type WorkerConfig = ConfigOf<typeof workerSettings>;

export interface RunningWorker {
  port: number;
  stop(): Promise<void>;
}

/** Clock and time limits, which tests replace. */
export type DeliveryClock = Pick<DeliveryDeps, 'now'> &
  Partial<Pick<DeliveryOptions, 'timeoutMs' | 'drainMs'>>;

type Closers = (() => Promise<unknown> | void)[];

/** `gwk worker`: webhook deliveries and periodic jobs. */
export const runWorker = (environment: NodeJS.ProcessEnv): Promise<void> =>
  runProgram({
    name: 'worker',
    config: readConfig('worker', workerSettings, environment),
    start: startWorker,
    onStarted: ({ port }, log) => log.info({ port }, 'working'),
  });

/** @throws WrongEncryptionKey, TooFewConnections, and errors of the listener */
export async function startWorker(
  config: WorkerConfig,
  log: Logger,
  signal: AbortSignal,
  clock: DeliveryClock = {},
): Promise<RunningWorker> {
  const sealer = new Sealer(parseEncryptionKeys(config.encryptionKeys));
  const db = openDatabase({
    url: config.databaseUrl,
    ca: config.databaseCa,
    poolSize: config.databasePool,
    program: 'gwk-worker',
  });
  const closers: Closers = [() => db.$disconnect()];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    await tracing.start(config, 'gwk-worker', log);
    closers.push(() => tracing.stop());
    await waitForUsableDatabase(db, sealer, log, signal);
    await checkConnectionBudget(db, { pool: config.databasePool, setting: 'GWK_WORKER_DATABASE_POOL', log });
    const redis = openWorkerRedis(config, log);
    closers.push(() => closeRedis(redis));
    const keys = new RedisKeys(config.redisPrefix);
    const sendNotifier = new SendNotifier(redis, keys);
    const metrics: WorkerMetrics = new WorkerMetrics({
      inFlight: () => deliveries.inFlight,
      ...postgresReaders(db, config),
    });
    messageMetrics.register(metrics.registry);
    const deliveries = makeDeliveries(config, { db, sealer, log, metrics, clock }, closers);
    const ended = new AbortController();
    const deps = { db, sealer, sendNotifier, log };
    const media = await openWorkerMedia(config, { ...deps, onResult: metrics.preparation.bind(metrics) });
    closers.push(() => media.stop());
    storeMetrics(metrics.registry, { db, redis, redisKeys: keys, media });
    const listener = await startHealthListener(config, {
      db,
      redis,
      media: media.watch,
      registry: metrics.registry,
      draining: () => ended.signal.aborted,
    });
    closers.push(() => listener.close());
    const readLiveness = chooseLivenessReader(config, { redis, keys, log, metrics });
    const all = [...createJobs(deps, config, readLiveness), ...media.jobs];
    const jobs = runAll(all, { log, signal: ended.signal, metrics });
    const delivering = deliverLoop(deliveries, { log, signal: ended.signal, metrics });
    closers.push(async () => {
      ended.abort();
      await Promise.all([deliveries.stop(), media.stop()]);
      await Promise.all([...jobs, delivering]);
    });
    return { port: listener.port, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function openWorkerRedis({ redisUrl: url, redisCa: ca }: WorkerConfig, log: Logger): Redis {
  const redis = openRedis({ url, ca, program: 'gwk-worker', log });
  watchEviction(redis, log);
  return redis;
}

function runAll(
  jobs: readonly Job[],
  { log, signal, metrics }: { log: Logger; signal: AbortSignal; metrics: WorkerMetrics },
): Promise<void>[] {
  return jobs.map((job) => {
    metrics.expects(job.name, job.everyMs);
    const onPass = (ok: boolean, amount: number): void => metrics.passed(job.name, ok, amount);
    return loop(job, { log, signal, onPass });
  });
}

/** Creates the reader of the liveness of engines whose lease was not renewed. */
function chooseLivenessReader(
  { prometheusUrl }: WorkerConfig,
  { redis, keys, log, metrics }: { redis: Redis; keys: RedisKeys; log: Logger; metrics: WorkerMetrics },
): LivenessReader {
  const source = prometheusUrl ? prometheusLiveness(prometheusUrl) : heartbeatLiveness(redis, keys);
  metrics.setLivenessSource(source.name);
  return createLivenessReader(source, { log, onRead: metrics.livenessRead.bind(metrics) });
}

function makeDeliveries(
  config: WorkerConfig,
  { clock, ...deps }: Pick<DeliveryDeps, 'db' | 'sealer' | 'log' | 'metrics'> & { clock: DeliveryClock },
  closers: Closers,
): Deliveries {
  const guard = new AddressGuard({
    loopback: config.loopbackWebhooks,
    forbiddenRanges: config.forbiddenRanges,
  });
  const dispatcher = guardedAgent(guard, { connectTimeoutMs: config.webhookTimeoutMs });
  closers.push(() => dispatcher.destroy());
  const options = {
    timeoutMs: clock.timeoutMs ?? config.webhookTimeoutMs,
    concurrency: config.webhookConcurrency,
    perEndpoint: config.webhookConcurrencyPerEndpoint,
    drainMs: clock.drainMs,
  };
  const links = new MediaLinks(deps.sealer, config.mediaUrl);
  return new Deliveries({ ...deps, guard, links, dispatcher, options, now: clock.now });
}

function createJobs(deps: JobDependencies, config: WorkerConfig, readLiveness: LivenessReader): Job[] {
  return [
    refuseMessagesJob(deps),
    optOutsJob(deps),
    expireMessagesJob(deps, config.expireAfterMs),
    unconfirmedSendsJob(deps, config.unconfirmedTimeoutMs),
    releaseScheduledJob(deps, readEnvironmentPolicy('GWK_WORKER_POLICY', config.environmentPolicy)),
    renotifyJob(deps),
    unresponsiveEnginesJob(deps, new Observer(), readLiveness),
    abandonDeliveriesJob(deps),
    pairingJob(deps),
    resendDeliveriesJob(deps),
    auditLogJob(deps),
    partitionsJob(deps, config),
    retentionJob(deps, config),
    ...createInteractiveStatusJobs(deps, config),
  ];
}

/** Creates the check of interactive formats, if two instances are configured for it. */
function createInteractiveStatusJobs(
  { db, sealer, sendNotifier, log }: JobDependencies,
  config: WorkerConfig,
): Job[] {
  const { monitorFrom: from, monitorTo: to, monitorEveryMinutes: everyMinutes } = config;
  if (from === undefined || to === undefined) return [];
  const environmentPolicy = readEnvironmentPolicy('GWK_WORKER_POLICY', config.environmentPolicy);
  const acceptor = new Acceptor({ database: db, sealer, sendNotifier, environmentPolicy });
  return [interactiveStatusJob({ db, log, acceptor }, { from, to, everyMinutes })];
}

const DELIVER = 'deliver';
/** Upper bound of the interval, for the metric of overdue jobs; free capacity wakes the loop much earlier. */
const DELIVER_EVERY_MS = 1_000;

/** Runs deliveries like a job; free capacity wakes it as well as time. */
async function deliverLoop(
  deliveries: Deliveries,
  { log, signal, metrics }: { log: Logger; signal: AbortSignal; metrics: WorkerMetrics },
): Promise<void> {
  let failures = 0;
  metrics.expects(DELIVER, DELIVER_EVERY_MS);
  while (!signal.aborted) {
    let wait: number;
    try {
      wait = await deliveries.pass();
      if (failures > 0) log.info('deliveries resumed');
      failures = 0;
      metrics.passed(DELIVER, true, 0);
    } catch (error) {
      failures += 1;
      if (failures === 1) log.warn({ err: error, job: DELIVER }, 'claiming deliveries failed; retrying');
      metrics.passed(DELIVER, false, 0);
      wait = backoff(100, failures);
    }
    if (!signal.aborted) await deliveries.pause(wait);
  }
}
