import { processClock, type Clock } from '@gwk/core/clock';
import { apiSettings } from '@gwk/core/config/api';
import { ConfigError, loadConfig } from '@gwk/core/config/load';
import { exitOnUncaughtError, onShutdown } from '@gwk/core/lifecycle';
import { createLogger, type Logger } from '@gwk/core/log';
import type { PolicyOverrides } from '@gwk/core/policy/policy';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { parseEncryptionKeys, Sealer, SealError } from '@gwk/core/encryption';
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
import { ConcurrencyLimiter } from '../instances/concurrency-limiter.js';
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
import {
  EXIT_CONFIGURATION,
  isListenError,
  isWrongSetting,
  readEnvironmentPolicy,
  waitForUsableDatabase,
} from './startup.js';
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

export async function runApi(environment: NodeJS.ProcessEnv): Promise<void> {
  disablePretenuring();
  growOldSpaceByItsSize();
  const config = readConfig(environment);
  const log = createLogger('api', config.logLevel);
  exitOnUncaughtError(log);
  const { drainMs, stopUnreadyMs, stopIdleMs } = config;
  const stopping = new AbortController();
  const starting = startApi(config, log, stopping.signal);
  onShutdown(
    async (cause) => {
      log.info({ cause }, 'stopping');
      stopping.abort();
      await (await starting.catch(() => undefined))?.stop();
      log.info('stopped');
    },
    { exitWithParent: config.exitWithParent, timeoutMs: stopUnreadyMs + stopIdleMs + drainMs + CLOSING_MS },
  );
  try {
    const { port, internalPort } = await starting;
    touchYoungHeap();
    log.info({ port, internal_port: internalPort }, 'serving');
  } catch (error) {
    if (stopping.signal.aborted) return;
    const expected = isWrongSetting(error) || isListenError(error);
    process.stderr.write(`gwk api: ${expected ? (error as Error).message : 'cannot start'}\n`);
    if (!expected) log.error({ err: error }, 'cannot start');
    process.exit(isWrongSetting(error) ? EXIT_CONFIGURATION : 1);
  }
}

function readConfig(environment: NodeJS.ProcessEnv): ApiConfig {
  try {
    const config = loadConfig(apiSettings, environment);
    parseEncryptionKeys(config.encryptionKeys);
    environmentPolicy(config);
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof SealError)) throw error;
    const name = error instanceof SealError ? 'GWK_ENCRYPTION_KEYS: ' : '';
    process.stderr.write(`gwk api: ${name}${error.message}\n`);
    process.exit(EXIT_CONFIGURATION);
  }
}

function environmentPolicy(config: ApiConfig): PolicyOverrides {
  return readEnvironmentPolicy('GWK_API_POLICY', config.environmentPolicy);
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
      environmentPolicy: environmentPolicy(config),
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
  return {
    config,
    environmentPolicy: environmentPolicy(config),
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
    clusterCalls: new ConcurrencyLimiter(MAX_CLUSTER_CALLS, CLUSTER_DEADLINE_MS),
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
    receiver: new Receiver({ database: db, sealer, log, environmentPolicy: environmentPolicy(config) }),
    acceptor: new Acceptor({
      database: db,
      sealer,
      sendNotifier: new SendNotifier(redis, redisKeys),
      environmentPolicy: environmentPolicy(config),
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
