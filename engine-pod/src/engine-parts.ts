import type { engineSettings } from '@gwk/core/config/engine';
import type { ConfigOf } from '@gwk/core/config/load';
import type { Logger } from '@gwk/core/process/log';
import { toPublicId } from '@gwk/core/ids/public-ids';
import type { EngineResponse } from '@gwk/core/protocol/engine';
import type { EngineClient } from '@gwk/core/protocol/internal-client';
import { ConnectionCommands } from './commands/connection-commands.js';
import { ClientVersions } from './connection/client-versions.js';
import { Connection } from './connection/connection.js';
import { awaitsVersion } from './connection/machine.js';
import { createDriver } from './driver/create.js';
import type { Driver } from './driver/driver.js';
import { createBatchSenders, type BatchSenders } from './internal-api/batch-senders.js';
import { InternalApiClient, type FinalRefusal } from './internal-api/client.js';
import { createDriverContext } from './internal-api/driver-context.js';
import { Lease, type AcquiredLease, type LeaseTerm } from './internal-api/lease.js';
import { EngineMetrics } from './metrics.js';
import type { EngineRedis } from './redis/engine-redis.js';
import { openEngineRedis } from './redis/open-engine-redis.js';
import { SendQueue } from './sends/send-queue.js';
import { IdleCollector } from './small-heap.js';

export interface EnginePartsOptions {
  acquired: AcquiredLease;
  term: LeaseTerm;
  client: EngineClient;
  config: ConfigOf<typeof engineSettings>;
  log: Logger;
}

interface EnginePartsEvents {
  /** The API has refused a call for good. */
  refused: (why: FinalRefusal) => void;
  /** Another connection with the same credentials took over. */
  replaced: () => void;
}

/** The engine connects with the version that it knows if the API does not name one in time. */
const CLIENT_VERSION_TIMEOUT_MS = 5_000;

/** Creates the parts of an engine and connects them. None of them does anything before its start, except that the idle collector counts the time. */
export class EngineParts {
  readonly #options: EnginePartsOptions;
  readonly api: InternalApiClient;
  readonly senders: BatchSenders;
  readonly connection: Connection;
  readonly lease: Lease;
  readonly sends: SendQueue;
  readonly commands: ConnectionCommands;
  readonly redis: EngineRedis;
  readonly idleCollector = new IdleCollector();
  readonly metrics: EngineMetrics;
  readonly #clientVersions: ClientVersions;
  #rejectsCalls: boolean | undefined;

  constructor(options: EnginePartsOptions, { refused, replaced }: EnginePartsEvents) {
    const { acquired, client, config, log } = options;
    const { epoch, holder, instance } = acquired;
    const { pod, ackTimeoutMs } = config;
    this.#options = options;
    this.#rejectsCalls = acquired.reject_calls;
    const api = new InternalApiClient({ client, lease: { epoch, holder }, log, onRefused: refused });
    const senders = createBatchSenders(api, log);
    this.api = api;
    this.senders = senders;
    this.metrics = this.#createMetrics();
    this.#clientVersions = this.#createClientVersions();
    const driver = createDriver(instance.kind, this.#createDriverContext(), config);
    this.connection = this.#createConnection(driver, replaced);
    this.lease = this.#createLease();
    this.sends = this.#createSends(driver);
    this.commands = new ConnectionCommands({
      ...{ pod, driver, ackTimeoutMs, connection: this.connection, gate: this.sends.gate },
      rateLimited: () => this.sends.handleRateLimit(),
      stored: () => senders.states.drain(),
      unlinked: async (id) => void (await api.callUntilAnswered('unlinked', { id })),
    });
    this.redis = openEngineRedis({
      ...{ acquired, api, log, metrics: this.metrics, sends: this.sends, connection: this.connection },
      handlers: { renew: () => this.lease.renewNow(), ...this.commands.handlers },
    });
  }

  #createMetrics(): EngineMetrics {
    const { acquired, config } = this.#options;
    return new EngineMetrics(config.metricsInstance ? toPublicId('instance', acquired.instance.id) : null, {
      state: () => this.connection.state,
      held: () => this.sends.held,
      activeConversations: () => this.sends.activeConversations,
      leaseMsLeft: () => this.lease.msLeft,
      redisUp: () => this.redis.up,
      clientVersion: () => this.#clientVersions.current,
    });
  }

  #createClientVersions(): ClientVersions {
    const { acquired, config, log } = this.#options;
    const { state, state_reason: reason = null } = acquired.instance;
    return new ClientVersions({
      setting: config.clientVersion,
      isWaiting: awaitsVersion({ state, reason }),
      log,
      ask: (question) => this.api.call('client-version', question, CLIENT_VERSION_TIMEOUT_MS),
      countRefusal: (version) => this.metrics.clientVersionRefusals.inc({ version }),
    });
  }

  #createDriverContext() {
    const { acquired, config, log } = this.#options;
    const { api, senders, metrics, idleCollector } = this;
    return createDriverContext({
      ...{ acquired, pod: config.pod, api, senders, metrics, idleCollector, log },
      clientVersions: this.#clientVersions,
      isLeased: () => this.lease.unexpired,
      rejectsCalls: () => this.#rejectsCalls,
    });
  }

  #createConnection(driver: Driver, replaced: () => void): Connection {
    const { acquired, log } = this.#options;
    const { senders, metrics } = this;
    return new Connection({
      driver,
      stored: acquired.instance,
      log,
      storeState: (change) => {
        metrics.stateChanged(change);
        return senders.states.push(change).catch(() => undefined);
      },
      ended: (reason) => metrics.disconnections.inc({ reason }),
      storePairing: (session, update) => senders.pairing.push({ session, news: update }),
      openChanged: (open) => {
        this.idleCollector.recordActivity();
        this.redis.sendHeartbeat();
        if (open) this.sends.notify();
      },
      replaced,
    });
  }

  #createLease(): Lease {
    const { term, acquired, log } = this.#options;
    return new Lease({
      api: this.api,
      term,
      renewMs: acquired.renew_ms,
      isConnected: () => this.connection.open,
      events: {
        unconfirmed: () => {
          log.error('lease about to expire without renewal; closing the socket');
          this.connection.handle({ kind: 'forbidden' });
        },
        confirmed: () => {
          log.info('lease confirmed again');
          this.connection.handle({ kind: 'permitted' });
        },
        renewed: (answer) => this.#applyRenewal(answer),
      },
    });
  }

  #createSends(driver: Driver): SendQueue {
    const { acquired, config, log } = this.#options;
    const { ackTimeoutMs, idleClaimMs } = config;
    const { api, senders, metrics } = this;
    return new SendQueue({
      ...{ driver, api, senders, metrics, log, ackTimeoutMs, idleClaimMs },
      messagesPerMinute: acquired.messages_per_minute,
      isOpen: () => this.connection.open && this.lease.valid,
      settled: (notification) => this.redis.acknowledge([notification]),
      finished: () => this.idleCollector.recordMessage(),
    });
  }

  #applyRenewal(answer: EngineResponse<'renew'>): void {
    this.#rejectsCalls = answer.reject_calls;
    this.sends.setRate(answer.messages_per_minute);
    this.commands.applyRequests(answer);
    void this.#findClientVersion();
  }

  async #findClientVersion(): Promise<void> {
    if (!this.connection.awaitsVersion) return;
    if (await this.#clientVersions.findNew()) this.connection.handle({ kind: 'version-found' });
  }
}
