import { loadConfigOrExit, type ConfigOf } from '@gwk/core/config/load';
import { workerSettings } from '../config/worker.js';
import type { Logger } from '@gwk/core/process/log';
import { heartbeatLiveness } from '../instances/availability/heartbeat-liveness.js';
import { prometheusLiveness } from '../instances/availability/prometheus-liveness.js';
import { startHealthListener } from '../probes/probes.js';
import { interactiveStatusJob } from '../jobs/interactive-status.js';
import { Acceptor } from '../messages/send/acceptor.js';
import { openMailer, type Mailer } from '../mail/mailer.js';
import { MediaLinks } from '../media/links.js';
import { openWorkerMedia } from '../jobs/media.js';
import { messageMetrics } from '../platform/metrics/messages.js';
import { storeMetrics } from '../probes/store-metrics.js';
import { SendNotifier } from '../messages/send-notifier.js';
import { AddressGuard, guardedAgent, readGuardedProxy } from '../platform/address-guard/guard.js';
import { EXIT_CONFIGURATION, runProgram, startOnStores } from './startup.js';
import { postgresReaders } from '../jobs/backlog.js';
import { Deliveries, type DeliveryDeps, type DeliveryOptions } from '../webhooks/delivery/deliveries.js';
import { WorkerMetrics } from '../jobs/metrics.js';
import { abandonDeliveriesJob, resendDeliveriesJob } from '../jobs/deliveries.js';
import { alertIncidentsJob, alertNoticesJob } from '../jobs/alerts.js';
import { auditLogJob } from '../jobs/audit-log.js';
import {
  expireMessagesJob,
  optOutsJob,
  refuseMessagesJob,
  renotifyJob,
  unconfirmedSendsJob,
} from '../jobs/waiting-messages.js';
import { pairingJob } from '../jobs/pairing.js';
import { partitionsJob } from '../jobs/partitions.js';
import { releaseScheduledJob } from '../jobs/release-scheduled.js';
import { SecurityMails } from '../jobs/security-mails.js';
import { retentionJob } from '../jobs/retention.js';
import { trafficJob } from '../jobs/traffic.js';
import { cacheQuery } from '../database/cached-query.js';
import { clientVersionMetrics } from '../client-version/metrics.js';
import { readVersionState } from '../client-version/store.js';
import { clientVersionJob } from '../jobs/client-version.js';
import { openAgents } from '@gwk/core/proxy/agents';
import { readFullAccounts, usageJob } from '../jobs/usage.js';
import {
  createLivenessReader,
  Observer,
  unresponsiveEnginesJob,
  type LivenessReader,
} from '../jobs/unresponsive-engines.js';
import { loop, type Job } from '../platform/job.js';
import type { JobDependencies } from '../jobs/dependencies.js';

type WorkerConfig = ConfigOf<typeof workerSettings>;

/** Clock, time limits and jobs, which tests replace. */
export type DeliveryClock = Pick<DeliveryDeps, 'now'> &
  Partial<Pick<DeliveryOptions, 'timeoutMs' | 'drainMs'>> & {
    /** Names of the jobs that run (default: all). */
    jobs?: readonly string[];
  };

/** `gwk worker`: webhook deliveries and periodic jobs. */
export const runWorker = (environment: NodeJS.ProcessEnv): Promise<void> =>
  runProgram({
    name: 'worker',
    config: loadConfigOrExit('worker', workerSettings, environment, EXIT_CONFIGURATION),
    start: startWorker,
    onStarted: ({ port }, log) => log.info({ port }, 'working'),
  });

export type RunningWorker = Awaited<ReturnType<typeof startWorker>>;

/** @throws ConfigError, WrongEncryptionKey, TooFewConnections, and errors of the listener */
export const startWorker = (
  config: WorkerConfig,
  log: Logger,
  signal: AbortSignal,
  clock: DeliveryClock = {},
) =>
  startOnStores(
    { name: 'worker', config, log, signal },
    async ({ db, sealer, redis, redisKeys, closers }) => {
      const sendNotifier = new SendNotifier(redis, redisKeys);
      const metrics: WorkerMetrics = new WorkerMetrics({
        inFlight: () => deliveries.inFlight,
        ...postgresReaders(db, config),
        fullAccounts: cacheQuery(() => readFullAccounts(db, config)),
      });
      messageMetrics.register(metrics.registry);
      const deliveries = makeDeliveries(config, { db, sealer, log, metrics, clock }, closers);
      const ended = new AbortController();
      const deps = { db, sealer, sendNotifier, log };
      const media = await openWorkerMedia(config, {
        ...deps,
        ...{ registry: metrics.registry, onResult: metrics.preparation.bind(metrics) },
        onDecoded: metrics.decoded.bind(metrics),
      });
      closers.defer(() => media.stop());
      storeMetrics(metrics.registry, { db, redis, redisKeys, media });
      const listener = await startHealthListener(config, {
        db,
        redis,
        media: media.watch,
        registry: metrics.registry,
        draining: () => ended.signal.aborted,
      });
      closers.defer(() => listener.close());
      const source = config.prometheusUrl
        ? prometheusLiveness(config.prometheusUrl)
        : heartbeatLiveness(redis, redisKeys);
      metrics.setLivenessSource(source.name);
      const readLiveness = createLivenessReader(source, log, metrics.livenessRead.bind(metrics));
      const { environmentPolicy, consoleUrl } = config;
      const acceptor = new Acceptor({ database: db, sealer, sendNotifier, environmentPolicy });
      const onResult = metrics.alert.bind(metrics);
      const alerts = { db, log, acceptor, mailer: openMailer(config), consoleUrl, onResult };
      const all = [
        ...createJobs(deps, config, { readLiveness, mailer: alerts.mailer }),
        ...createInteractiveStatusJobs({ db, log, acceptor }, config),
        ...createClientVersionJobs({ db, log }, config, metrics),
        ...[alertIncidentsJob(alerts), alertNoticesJob(alerts)],
        ...media.jobs,
        deliverJob(deliveries),
      ];
      const jobs = runAll(all, { log, signal: ended.signal, metrics, only: clock.jobs });
      closers.defer(async () => {
        ended.abort();
        await Promise.all([deliveries.stop(), media.stop()]);
        await Promise.all(jobs);
      });
      return { port: listener.port };
    },
  );

function runAll(
  jobs: readonly Job[],
  {
    only,
    metrics,
    ...run
  }: { log: Logger; signal: AbortSignal; metrics: WorkerMetrics; only: DeliveryClock['jobs'] },
): Promise<void>[] {
  const selected = jobs.filter(({ name }) => only?.includes(name) ?? true);
  return selected.map((job) => {
    metrics.expects(job.name, job.everyMs);
    const onPass = (ok: boolean, amount: number): void => metrics.passed(job.name, ok, amount);
    return loop(job, { ...run, onPass });
  });
}

function makeDeliveries(
  config: WorkerConfig,
  {
    clock,
    metrics,
    ...deps
  }: Pick<DeliveryDeps, 'db' | 'sealer' | 'log'> & {
    metrics: WorkerMetrics;
    clock: DeliveryClock;
  },
  closers: AsyncDisposableStack,
): Deliveries {
  const guard = new AddressGuard({
    loopback: config.loopbackWebhooks,
    forbiddenRanges: config.forbiddenRanges,
  });
  const proxy = readGuardedProxy(config);
  const { webhookTimeoutMs: connectTimeoutMs, webhookCa: ca, webhookCaHosts } = config;
  const hosts = webhookCaHosts
    .toLowerCase()
    .split(',')
    .map((host) => host.trim())
    .filter(Boolean);
  const privateCa = ca === undefined ? undefined : { ca, hosts };
  const dispatcher = guardedAgent(guard, { connectTimeoutMs, privateCa, proxy });
  closers.defer(() => dispatcher.destroy());
  const options = {
    timeoutMs: clock.timeoutMs ?? config.webhookTimeoutMs,
    concurrency: config.webhookConcurrency,
    perEndpoint: config.webhookConcurrencyPerEndpoint,
    drainMs: clock.drainMs,
  };
  const links = new MediaLinks(deps.sealer, config.mediaUrl);
  const onAttempt = metrics.recordAttempt.bind(metrics);
  return new Deliveries({ ...deps, guard, links, dispatcher, onAttempt, options, now: clock.now });
}

function createJobs(
  deps: JobDependencies,
  config: WorkerConfig,
  { readLiveness, mailer }: { readLiveness: LivenessReader; mailer: Mailer | null },
): Job[] {
  return [
    refuseMessagesJob(deps),
    optOutsJob(deps),
    expireMessagesJob(deps, config.expireAfterMs),
    unconfirmedSendsJob(deps, config.unconfirmedTimeoutMs),
    releaseScheduledJob(deps, config.environmentPolicy),
    renotifyJob(deps),
    unresponsiveEnginesJob(deps, new Observer(), readLiveness),
    abandonDeliveriesJob(deps),
    pairingJob(deps),
    resendDeliveriesJob(deps),
    ...createAuditJobs(deps, mailer),
    partitionsJob(deps, config),
    retentionJob(deps, config),
    usageJob(deps, config),
    trafficJob(deps),
  ];
}

function createAuditJobs(deps: Pick<JobDependencies, 'db' | 'log'>, mailer: Mailer | null): Job[] {
  if (!mailer) return [auditLogJob(deps)];
  const mails = new SecurityMails({ ...deps, mailer });
  return [auditLogJob(deps, (entries) => mails.add(entries)), mails.job];
}

/** Creates the reader of the served client version, if engines follow it. */
function createClientVersionJobs(
  deps: Pick<JobDependencies, 'db' | 'log'>,
  config: WorkerConfig,
  { registry }: WorkerMetrics,
): Job[] {
  const isReader = config.clientVersion === 'auto';
  const read = cacheQuery(() => readVersionState(deps.db));
  const onRead = clientVersionMetrics(registry, { read, isReader });
  if (!isReader) return [];
  return [clientVersionJob(deps, { url: config.clientVersionUrl, agents: openAgents(config), onRead })];
}

/** Creates the check of interactive formats, if two instances are configured for it. */
function createInteractiveStatusJobs(
  deps: Pick<JobDependencies, 'db' | 'log'> & { acceptor: Acceptor },
  { monitorFrom: from, monitorTo: to, monitorEveryMinutes: everyMinutes }: WorkerConfig,
): Job[] {
  if (from === undefined || to === undefined) return [];
  return [interactiveStatusJob(deps, { from, to, everyMinutes })];
}

/** Runs webhook deliveries. Free capacity ends a pause much earlier than the interval. */
const deliverJob = (deliveries: Deliveries): Job => ({
  name: 'deliver',
  everyMs: 1_000,
  pass: async () => ({ amount: 0, more: false, restMs: await deliveries.pass() }),
  rest: (ms) => deliveries.pause(ms),
});
