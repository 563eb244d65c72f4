import { processClock, type Clock } from '@gwk/core/clock';
import { apiSettings } from '../config/api.js';
import { loadConfigOrExit } from '@gwk/core/config/load';
import type { Logger } from '@gwk/core/process/log';
import { Registry } from 'prom-client';
import { KeyDirectory } from '../accounts/api-keys.js';
import { RateLimiter } from '../accounts/rate-limiter.js';
import { SessionDirectory } from '../accounts/sessions.js';
import { OperatorDesiredState } from '@gwk/core/desired-state/desired-state';
import { openProvider } from '../people/oidc/provider.js';
import { PasswordResets } from '../people/password-reset/resets.js';
import { Passwords } from '../people/passwords.js';
import { findConsoleUrl, isPublicPlainHttp } from '../http/console-url.js';
import { Cursors } from '../http/cursor.js';
import { startPublicListener } from '../public-api/listener.js';
import type { ApiConfig, Services } from '../http/services.js';
import { IdempotencyStore } from '../http/idempotency/store.js';
import { Receiver } from '../inbound/receiver.js';
import { createClusterCallLimit } from '../instances/cluster-call-limit.js';
import { startInternalListener } from '../internal-api/listener.js';
import { LiveCommands } from '../engine-commands/commands.js';
import { openMailer } from '../mail/mailer.js';
import { openMedia } from '../media/media.js';
import { openTransfers } from '../media/transfers/media-transfers.js';
import { messageMetrics } from '../platform/metrics/messages.js';
import { createOperatorNote } from '../platform/presence.js';
import { storeMetrics } from '../probes/store-metrics.js';
import { Acceptor } from '../messages/send/acceptor.js';
import { SendNotifier } from '../messages/send-notifier.js';
import { EventFeed } from '../events/feed.js';
import { PairingWatch } from '../instances/pairing/watch.js';
import { EXIT_CONFIGURATION, runProgram, startOnStores, type Stores } from './startup.js';
import { disablePretenuring, growOldSpaceByItsSize, touchYoungHeap } from './young-heap.js';

/** Additional time of a stop, for calls of engines and for traces. */
const CLOSING_MS = 10_000;
const MAX_CLUSTER_CALLS = 4;
const CLUSTER_DEADLINE_MS = 4_000;
const CLUSTER_TIMEOUT_MS = 2_500;

/** `gwk api`: the public and the internal listener. */
export function runApi(environment: NodeJS.ProcessEnv): Promise<void> {
  disablePretenuring();
  growOldSpaceByItsSize();
  const config = loadConfigOrExit('api', apiSettings, environment, EXIT_CONFIGURATION);
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

const PLAIN_HTTP =
  'the public address is http: everybody on the way reads API keys, passwords and session cookies; set GWK_API_BASE_URL to https';

export type RunningApi = Awaited<ReturnType<typeof startApi>>;

/** @throws ConfigError, WrongEncryptionKey, TooFewConnections, and errors of the listeners */
export const startApi = (config: ApiConfig, log: Logger, signal: AbortSignal, clock: Clock = processClock) =>
  startOnStores({ name: 'api', config, log, signal }, async (stores) => {
    const { db, sealer, redis, redisKeys, closers } = stores;
    const mediaUrl = config.mediaUrl ?? config.baseUrl;
    for (const url of new Set([config.baseUrl, findConsoleUrl(config)])) {
      if (isPublicPlainHttp(url)) log.warn({ url }, PLAIN_HTTP);
    }
    const media = await openMedia({ ...config, mediaUrl }, { db, sealer, log });
    closers.defer(() => media.store.close());
    const services = await makeServices(config, stores, { log, media, clock });
    closers.defer(() => services.live.close());
    closers.defer(() => services.passwordResets?.close());
    const { acceptor, environmentPolicy, live, registry, transfers } = services;
    const internal = await startInternalListener({
      config,
      environmentPolicy,
      database: db,
      redis,
      sealer,
      media,
      acceptor,
      transfers,
      live,
      noteOperator: createOperatorNote(redis, redisKeys),
      log,
      registry,
    });
    closers.defer(() => internal.close());
    messageMetrics.register(registry);
    storeMetrics(registry, services);
    const listener = await startPublicListener(services);
    closers.defer(() => listener.close());
    return { port: listener.port, internalPort: internal.port };
  });

async function makeServices(
  config: ApiConfig,
  { db, sealer, redis, redisKeys }: Stores,
  given: Pick<Services, 'log' | 'media' | 'clock'>,
): Promise<Services> {
  const { log, clock } = given;
  const { environmentPolicy, redisUrl, redisCa } = config;
  const sendNotifier = new SendNotifier(redis, redisKeys);
  const registry = new Registry();
  const mailer = openMailer(config);
  return {
    ...given,
    config,
    environmentPolicy,
    db,
    redis,
    redisKeys,
    sealer,
    apiKeys: new KeyDirectory(db, () => clock.now()),
    sessions: new SessionDirectory(db, () => clock.now()),
    passwords: new Passwords(),
    limiter: new RateLimiter(redis, redisKeys),
    idempotency: new IdempotencyStore(db, sealer),
    cursors: new Cursors(sealer),
    mailer,
    passwordResets:
      mailer && config.oidcPasswords
        ? new PasswordResets({ db, mailer, log, baseUrl: findConsoleUrl(config) })
        : null,
    provider: openProvider(config, clock, log),
    resources: await openResources(config),
    limitClusterCalls: createClusterCallLimit(MAX_CLUSTER_CALLS, CLUSTER_DEADLINE_MS),
    live: new LiveCommands({ redis, redisUrl, redisCa, keys: redisKeys, sealer, log, clock }),
    pairings: new PairingWatch(db, sealer),
    eventFeed: new EventFeed(db),
    registry,
    transfers: openTransfers(config, clock, registry),
    receiver: new Receiver({ database: db, sealer, log, environmentPolicy }),
    acceptor: new Acceptor({ database: db, sealer, sendNotifier, environmentPolicy }),
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
