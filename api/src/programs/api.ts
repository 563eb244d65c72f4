import { processClock, type Clock } from '@gwk/core/clock';
import { apiSettings } from '@gwk/core/config/api';
import type { Logger } from '@gwk/core/log';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { parseEncryptionKeys, Sealer } from '@gwk/core/encryption';
import { tracing } from '@gwk/core/tracing/tracing';
import { Registry } from 'prom-client';
import { KeyDirectory } from '../accounts/api-keys.js';
import { RateLimiter } from '../accounts/rate-limiter.js';
import { OperatorDesiredState } from '@gwk/core/desired-state/operator-client';
import { openDatabase, type Database } from '../database/database.js';
import { Cursors } from '../http/cursor.js';
import { startPublicListener } from '../public-api/listener.js';
import type { ApiConfig, Services } from '../http/services.js';
import { IdempotencyStore } from '../http/idempotency/store.js';
import { Receiver } from '../inbound/receiver.js';
import { createClusterCallLimit } from '../instances/cluster-call-limit.js';
import { startInternalListener } from '../internal-api/listener.js';
import { LiveCommands } from '../instances/live/commands.js';
import { openMedia, type Media } from '../media/media.js';
import { messageMetrics } from '../platform/metrics/messages.js';
import { storeMetrics } from '../probes/store-metrics.js';
import { Acceptor } from '../messages/send/acceptor.js';
import { SendNotifier } from '../messages/send-notifier.js';
import { PairingWatch } from '../instances/pairing/watch.js';
import { checkConnectionBudget } from '../database/connection-budget.js';
import { watchEviction } from '../platform/redis-eviction.js';
import { closeRedis, openRedis } from '../platform/redis.js';
import { readConfig, readEnvironmentPolicy, runProgram, waitForUsableDatabase } from './startup.js';
import { disablePretenuring, growOldSpaceByItsSize, touchYoungHeap } from './young-heap.js';

/** `gwk api`: the public and the internal listener. */
export interface RunningApi {
  port: number;
  internalPort: number;
  stop(): Promise<void>;
}

/** Additional time of a stop, for calls of engines and for traces. */
const CLOSING_MS = 10_000;
const MAX_CLUSTER_CALLS = 4;
const CLUSTER_DEADLINE_MS = 4_000;
const CLUSTER_TIMEOUT_MS = 2_500;

export function runApi(environment: NodeJS.ProcessEnv): Promise<void> {
  disablePretenuring();
  growOldSpaceByItsSize();
  const config = readConfig('api', apiSettings, environment);
  return runProgram({
    name: 'api',
    config,
    start: startApi,
    onStarted({ port, internalPort }, log) {
      touchYoungHeap();
      log.info({ port, internal_port: internalPort }, 'serving');
    },
    timeoutMs: config.stopUnreadyMs + config.stopIdleMs + config.drainMs + CLOSING_MS,
  });
}

/** @throws WrongEncryptionKey, TooFewConnections, and errors of the listeners */
export async function startApi(
  config: ApiConfig,
  log: Logger,
  signal: AbortSignal,
  clock: Clock = processClock,
): Promise<RunningApi> {
  const sealer = new Sealer(parseEncryptionKeys(config.encryptionKeys));
  const { databaseUrl: url, databaseCa: ca } = config;
  const db = openDatabase({ url, ca, poolSize: config.databasePool, program: 'gwk-api' });
  const closers: (() => Promise<unknown> | void)[] = [() => db.$disconnect()];
  const closeAll = async (): Promise<void> => {
    for (const close of closers.reverse()) await close();
  };
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= closeAll());
  try {
    await tracing.start(config, 'gwk-api', log);
    closers.push(() => tracing.stop());
    await waitForUsableDatabase(db, sealer, log, signal);
    await checkConnectionBudget(db, { pool: config.databasePool, setting: 'GWK_API_DATABASE_POOL', log });
    const mediaUrl = config.mediaUrl ?? config.baseUrl;
    const media = await openMedia({ ...config, mediaUrl }, { db, sealer, log });
    closers.push(() => media.store.close());
    const services = await makeServices(config, log, { db, sealer, media, clock });
    watchEviction(services.redis, log);
    closers.push(() => closeRedis(services.redis));
    closers.push(() => services.live.close());
    const internal = await startInternalListener({
      config,
      environmentPolicy: services.environmentPolicy,
      database: db,
      redis: services.redis,
      sealer,
      media,
      live: services.live,
      log,
      registry: services.registry,
    });
    closers.push(() => internal.close());
    messageMetrics.register(services.registry);
    storeMetrics(services.registry, services);
    const listener = await startPublicListener(services);
    closers.push(() => listener.close());
    return { port: listener.port, internalPort: internal.port, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function makeServices(
  config: ApiConfig,
  log: Logger,
  { db, sealer, media, clock }: { db: Database; sealer: Sealer; media: Media; clock: Clock },
): Promise<Services> {
  const redis = openRedis({ url: config.redisUrl, ca: config.redisCa, program: 'gwk-api', log });
  const redisKeys = new RedisKeys(config.redisPrefix);
  const environmentPolicy = readEnvironmentPolicy('GWK_API_POLICY', config.environmentPolicy);
  return {
    config,
    environmentPolicy,
    log,
    clock,
    db,
    redis,
    redisKeys,
    sealer,
    apiKeys: new KeyDirectory(db, () => clock.now()),
    limiter: new RateLimiter(redis, redisKeys),
    idempotency: new IdempotencyStore(db, sealer),
    cursors: new Cursors(sealer),
    resources: await openResources(config),
    limitClusterCalls: createClusterCallLimit(MAX_CLUSTER_CALLS, CLUSTER_DEADLINE_MS),
    live: new LiveCommands({
      redis,
      redisUrl: config.redisUrl,
      redisCa: config.redisCa,
      keys: redisKeys,
      sealer,
      log,
      clock,
    }),
    pairings: new PairingWatch(db, sealer),
    media,
    registry: new Registry(),
    receiver: new Receiver({ database: db, sealer, log, environmentPolicy }),
    acceptor: new Acceptor({
      database: db,
      sealer,
      sendNotifier: new SendNotifier(redis, redisKeys),
      environmentPolicy,
    }),
  };
}

/** On one machine the operator stores the resources, and client-node is not loaded. */
async function openResources(config: ApiConfig): Promise<Services['resources']> {
  const { operatorUrl, clusterUrl: url, clusterToken: token, clusterCa: ca } = config;
  const timeoutMs = CLUSTER_TIMEOUT_MS;
  if (operatorUrl !== undefined)
    return new OperatorDesiredState({ url: operatorUrl, token: token(), timeoutMs });
  const { KubernetesDesiredState } = await import('../instances/kubernetes-desired-state.js');
  return new KubernetesDesiredState({ url, token, ca, timeoutMs });
}
