import { resolvesWithin } from '@gwk/core/async/timeout';
import { processClock } from '@gwk/core/clock';
import type { engineSettings } from '@gwk/core/config/engine';
import type { ConfigOf } from '@gwk/core/config/load';
import type { Logger } from '@gwk/core/log';
import { toPublicId } from '@gwk/core/public-ids';
import type { EngineClient } from '@gwk/core/protocol/internal-client';
import type { Outcome, StateChange } from '@gwk/core/protocol/engine';
import type { Readiness } from '@gwk/core/probes';
import { tracing } from '@gwk/core/tracing/tracing';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { InstanceState } from '@gwk/core/states';
import { ClientVersions } from './connection/client-versions.js';
import { Connection } from './connection/connection.js';
import { awaitsVersion } from './connection/machine.js';
import { createDriver } from './driver/create.js';
import type { Driver, DriverContext, Receipt } from './driver/driver.js';
import { EXIT_CODES } from './exit-codes.js';
import { ConnectionCommands } from './commands/connection-commands.js';
import { EngineMetrics } from './metrics.js';
import { Lease, type AcquiredLease, type LeaseTerm } from './internal-api/lease.js';
import { InternalApiClient } from './internal-api/client.js';
import { createBatchSenders, type BatchSenders } from './internal-api/batch-senders.js';
import { EngineRedis } from './redis/engine-redis.js';
import { Claimer } from './sends/claimer.js';
import { Gate } from './sends/gate.js';
import { Pacing } from './sends/pacing.js';
import { RateLimitPause } from './sends/rate-limit-pause.js';
import { Sender } from './sends/sender.js';
import { IdleCollector } from './small-heap.js';

interface EngineOptions {
  acquired: AcquiredLease;
  term: LeaseTerm;
  client: EngineClient;
  config: ConfigOf<typeof engineSettings>;
  log: Logger;
  /** Called when the engine cannot continue. The socket is closed, and the process must exit with this code. */
  lost: (exitCode: number) => void;
}

/** The engine connects with the version that it knows if the API does not name one in time. */
const CLIENT_VERSION_TIMEOUT_MS = 5_000;

/** Time limits of a graceful stop, in milliseconds. */
const STOP_LIMITS = {
  sendsMs: 5_000,
  unlinkMs: 5_000,
  socketMs: 3_000,
  repliesMs: 1_000,
  drainMs: 5_000,
  releaseMs: 2_000,
};

/** Runs one instance under one lease: creates its parts and connects them. */
export class Engine {
  readonly #options: EngineOptions;
  readonly #log: Logger;
  readonly #api: InternalApiClient;
  readonly #senders: BatchSenders;
  readonly #lease: Lease;
  readonly #connection: Connection;
  readonly #gate: Gate;
  readonly #pause: RateLimitPause;
  readonly #pacing: Pacing;
  readonly #claimer: Claimer;
  readonly #sender: Sender;
  readonly #connectionCommands: ConnectionCommands;
  readonly #redis: EngineRedis;
  readonly #idleCollector = new IdleCollector();
  readonly metrics: EngineMetrics;
  readonly #clientVersions: ClientVersions;
  #rejectsCalls: boolean | undefined;
  #ending: Promise<void> | undefined;
  /** Trace of the notification that caused the next claim. */
  #claimTraceparent: string | null = null;

  constructor(options: EngineOptions) {
    const { acquired, client, config, log } = options;
    this.#options = options;
    this.#log = log;
    this.#api = new InternalApiClient({
      client,
      lease: { epoch: acquired.epoch, holder: acquired.holder },
      log,
      onRefused: (refusal) => void this.#giveUp(refusal),
    });
    this.#senders = createBatchSenders(this.#api, log);
    this.#rejectsCalls = acquired.reject_calls;
    this.#clientVersions = this.#createClientVersions();
    const driver = createDriver(acquired.instance.kind, this.#driverContext(), {
      sandbox: config.sandboxNetwork,
      web: { url: config.networkUrl, root: config.networkRoot, ca: config.networkCa },
      proxy: config,
    });
    this.#connection = this.#createConnection(driver);
    this.#lease = this.#createLease();
    this.#pause = new RateLimitPause(processClock, () => {
      this.#gate.recheck();
      this.#claimer.recheck();
    });
    this.#gate = new Gate(
      () => this.#connection.open && this.#lease.valid,
      () => this.#pause.isActive,
    );
    this.#pacing = new Pacing(acquired.messages_per_minute, performance.now());
    this.#sender = this.#createSender(driver);
    this.#connectionCommands = this.#createConnectionCommands(driver);
    this.#claimer = this.#createClaimer();
    this.#redis = this.#createRedis();
    this.metrics = new EngineMetrics(
      config.metricsInstance ? toPublicId('instance', acquired.instance.id) : null,
      {
        state: () => this.#connection.state,
        held: () => this.#sender.held,
        activeConversations: () => this.#sender.activeConversations,
        leaseMsLeft: () => this.#lease.msLeft,
        redisUp: () => this.#redis.up,
        clientVersion: () => this.#clientVersions.current,
      },
    );
  }

  start(): void {
    this.#lease.start();
    this.#connection.handle({ kind: 'start' });
    this.#connectionCommands.applyRequests(this.#options.acquired);
    this.#redis.start();
    this.#claimer.start();
  }

  /** Redis and the network are reported but do not affect readiness, because the engine survives their loss. */
  get readiness(): Readiness {
    const ready = this.#lease.valid;
    const checks = {
      lease: ready ? 'ok' : 'not-held',
      redis: this.#redis.up ? 'ok' : 'unreachable',
      connection: this.#connection.state,
    };
    return { ready, checks };
  }

  /**
   * Stops in this order: claim nothing new; let sends in progress finish; return the rest; close the socket; store
   * every outcome; release the lease.
   */
  stop(): Promise<void> {
    return (this.#ending ??= this.#stop());
  }

  async #stop(): Promise<void> {
    this.#log.info({ held: this.#sender.held }, 'stopping');
    this.#gate.stop();
    await resolvesWithin(
      this.#claimer.stop().then(() => this.#sender.waitUntilEmpty()),
      STOP_LIMITS.sendsMs,
    );
    this.#gate.end();
    await resolvesWithin(this.#connection.stop(), STOP_LIMITS.socketMs);
    await resolvesWithin(this.#drain(), STOP_LIMITS.drainMs);
    this.#idleCollector.stop();
    this.#redis.stop();
    this.#lease.stop();
    await this.#api.call('release', {}, STOP_LIMITS.releaseMs).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'lease not released; it expires on its own');
    });
    this.#api.close();
  }

  /** Sends built messages first, because the answer decides outcomes. */
  async #drain(): Promise<void> {
    await this.#senders.built.drain();
    await new Promise(setImmediate);
    await Promise.all(Object.values(this.#senders).map((sender) => sender.drain()));
  }

  /** Another engine, or nobody, owns the instance now: closes the socket first, then everything else at once. */
  async #giveUp(why: 'fenced' | 'unauthorized' | 'gone'): Promise<void> {
    this.#log.error({ why }, 'lease lost');
    this.#gate.end();
    // The device of a deleted instance is unlinked too, and the caller of the deletion gets the result.
    if (why === 'gone') await resolvesWithin(this.#unlinkDevice(), STOP_LIMITS.unlinkMs);
    await resolvesWithin(this.#connection.stop(), STOP_LIMITS.socketMs);
    await resolvesWithin(this.#redis.waitForReplies(), STOP_LIMITS.repliesMs);
    this.#redis.stop();
    this.#lease.stop();
    if (!this.#ending) this.#options.lost(EXIT_CODES[why]);
  }

  async #unlinkDevice(): Promise<void> {
    if (!(await this.#connectionCommands.logout())) return;
    const { client, acquired } = this.#options;
    const { epoch, holder } = acquired;
    // The refusal has closed `#api`.
    const call = client.call('unlinked', { id: null, epoch, holder }, STOP_LIMITS.releaseMs);
    await call.catch((error: unknown) => {
      this.#log.info({ route: 'unlinked', err: error }, 'final call to the internal API failed');
    });
  }

  #driverContext(): DriverContext {
    const { acquired, config } = this.#options;
    return {
      instanceId: acquired.instance.id,
      pod: config.pod,
      epoch: acquired.epoch,
      log: this.#log,
      session: {
        read: (type, keys) => this.#api.readSession(type, keys),
        write: (entries) => {
          this.#idleCollector.recordActivity();
          return this.metrics.timeStore(this.#api.callUntilAnswered('session-write', { entries }));
        },
      },
      isLeased: () => this.#lease.unexpired,
      readFile: (messageId, read) => this.#api.readFile(messageId, read),
      readSentMessage: async (wa_message_id) =>
        decodeBase64((await this.#api.callUntilAnswered('sent', { wa_message_id })).built),
      readPoll: async (wa_message_id) => {
        const { built, secret = null } = await this.#api.callUntilAnswered('sent', {
          wa_message_id,
          poll: true,
        });
        return { built: decodeBase64(built), secret: decodeBase64(secret) };
      },
      storeNames: (names) => this.#api.storeNames(names),
      storeUsernames: async (people) => void (await this.#api.call('usernames', { people })),
      storeRestriction: async (until) =>
        void (await this.#api.callUntilAnswered('restricted', { until: until?.toISOString() ?? null })),
      storeFile: (file, named) => this.#api.storeFile(file, named),
      storeReceipt: async (receipt) => void (await this.#senders.outcomes.push(toOutcome(receipt))),
      storeInbound: async (message) => {
        this.#idleCollector.recordMessage();
        await this.#senders.inbound.push(message);
        this.metrics.received.inc();
      },
      rejectsCalls: () => this.#rejectsCalls,
      clientVersions: this.#clientVersions,
      storeNotice: (notice) => this.#senders.notices.push(notice),
      countIgnored: (reason) => this.metrics.ignored.inc({ reason }),
    };
  }

  #createClientVersions(): ClientVersions {
    const { acquired, config } = this.#options;
    const { state, state_reason: reason = null } = acquired.instance;
    return new ClientVersions({
      setting: config.clientVersion,
      isWaiting: awaitsVersion({ state, reason }),
      log: this.#log,
      ask: (question) => this.#api.call('client-version', question, CLIENT_VERSION_TIMEOUT_MS),
      countRefusal: (version) => this.metrics.clientVersionRefusals.inc({ version }),
    });
  }

  async #findClientVersion(): Promise<void> {
    if (!this.#connection.awaitsVersion) return;
    if (await this.#clientVersions.findNew()) this.#connection.handle({ kind: 'version-found' });
  }

  #createConnection(driver: Driver): Connection {
    return new Connection({
      driver,
      stored: this.#options.acquired.instance,
      log: this.#log,
      storeState: (change: StateChange) => {
        this.metrics.stateChanged(change);
        this.#senders.states.push(change).catch(() => undefined);
      },
      ended: (reason) => this.metrics.disconnections.inc({ reason }),
      storePairing: (session, update) => this.#senders.pairing.push({ session, news: update }),
      openChanged: (open) => {
        this.#idleCollector.recordActivity();
        this.#redis.sendHeartbeat();
        if (!open) return;
        this.#gate.recheck();
        this.#claimer.notify();
      },
      replaced: () => {
        this.#log.error('another connection with the same credentials took over');
        void this.stop().then(() => this.#options.lost(EXIT_CODES.replaced));
      },
    });
  }

  #createLease(): Lease {
    const { term, acquired } = this.#options;
    return new Lease({
      api: this.#api,
      term,
      renewMs: acquired.renew_ms,
      isConnected: () => this.#connection.open,
      events: {
        unconfirmed: () => {
          this.#log.error('lease about to expire without renewal; closing the socket');
          this.#connection.handle({ kind: 'forbidden' });
        },
        confirmed: () => {
          this.#log.info('lease confirmed again');
          this.#connection.handle({ kind: 'permitted' });
        },
        renewed: (answer) => {
          this.#rejectsCalls = answer.reject_calls;
          this.#pacing.setRate(answer.messages_per_minute, performance.now());
          this.#gate.recheck();
          this.#claimer.recheck();
          this.#connectionCommands.applyRequests(answer);
          void this.#findClientVersion();
        },
      },
    });
  }

  #createSender(driver: Driver): Sender {
    return new Sender({
      driver,
      gate: this.#gate,
      log: this.#log,
      ackTimeoutMs: this.#options.config.ackTimeoutMs,
      storeBuilt: (built) => this.#senders.built.push(built),
      report: (outcome) => this.#senders.outcomes.push(outcome),
      settled: (notification, waiting) => {
        if (notification !== undefined) this.#redis.acknowledge([notification]);
        if (waiting) this.#claimer.notify();
        else this.#claimer.recheck();
      },
      returned: () => this.#pacing.giveBack(1),
      finished: (result, ms) => {
        this.#idleCollector.recordMessage();
        if (result === 'sent') this.#pause.reset();
        this.metrics.finished(result, ms);
      },
      rateLimited: () => this.#handleRateLimit(),
      resending: (message, attempt) => {
        this.metrics.resends.inc();
        this.#log.warn({ message_id: message.message_id, attempt }, 'message unconfirmed; sending it again');
      },
    });
  }

  #handleRateLimit(): void {
    const ms = this.#pause.begin();
    if (ms === null) return;
    this.metrics.rateLimitPauses.inc();
    this.#log.warn({ ms }, 'the network limits the rate of messages; pausing all sends');
  }

  #createConnectionCommands(driver: Driver): ConnectionCommands {
    return new ConnectionCommands({
      pod: this.#options.config.pod,
      connection: this.#connection,
      driver,
      gate: this.#gate,
      rateLimited: () => this.#handleRateLimit(),
      ackTimeoutMs: this.#options.config.ackTimeoutMs,
      stored: () => this.#senders.states.drain(),
      unlinked: async (id) => void (await this.#api.callUntilAnswered('unlinked', { id })),
    });
  }

  #createClaimer(): Claimer {
    return new Claimer({
      pacing: this.#pacing,
      idleClaimMs: this.#options.config.idleClaimMs,
      open: () => this.#gate.mayBegin,
      capacity: () => this.#sender.capacity,
      claim: async (claim_id, limit) => {
        const span = tracing.child('claim', this.#claimTraceparent, { kind: 'client' });
        this.#claimTraceparent = null;
        const followers = this.#sender.wantsFollowers;
        const claim = this.#api.claim(claim_id, { limit, followers }, span.traceparent);
        const messages = await claim.finally(() => span.end());
        this.metrics.claims.inc();
        return messages;
      },
      accept: (messages, claimId) => this.#sender.accept(messages, claimId),
    });
  }

  #createRedis(): EngineRedis {
    const { acquired } = this.#options;
    const { url, username, password, key_prefix, ca } = acquired.redis;
    return new EngineRedis({
      address: { url, username, password, ca },
      keys: new RedisKeys(key_prefix),
      instanceId: acquired.instance.id,
      epoch: acquired.epoch,
      renewMs: acquired.renew_ms,
      commandKey: Buffer.from(acquired.command_key, 'base64'),
      log: this.#log,
      restoreUser: async () => void (await this.#api.call('redis-user', {})),
      notify: () => this.#claimer.notifyAndWait(),
      keep: (messageId, entry) => this.#sender.keepNotification(messageId, entry),
      take: (messages, entry) => {
        const plan = this.#sender.receive(messages);
        if (plan !== 'build') return plan === 'claim' ? 'claim' : 'done';
        if (!this.#claimer.take(messages.length)) return 'claim';
        this.#sender.take(messages, entry);
        return 'kept';
      },
      received: (notifiedAt) => this.metrics.notified(notifiedAt),
      traced: (traceparent) => (this.#claimTraceparent = traceparent),
      heartbeat: () => {
        const now = new Date();
        return { alive: now, connected: findLastConnected(this.#connection, now) };
      },
      handlers: {
        renew: () => this.#lease.renewNow(),
        ...this.#connectionCommands.handlers,
      },
    });
  }
}

/** Unknown in other states: the engine may have been disconnected before them. */
function findLastConnected({ state, since }: { state: InstanceState; since: Date }, now: Date): Date | null {
  if (state === 'connected') return now;
  return state === 'disconnected' ? since : null;
}

function toOutcome({ waMessageId, at, ...fields }: Receipt): Outcome {
  return { kind: 'receipt', wa_message_id: waMessageId, at: at.toISOString(), ...fields };
}

const decodeBase64 = (text: string | null): Buffer | null =>
  text === null ? null : Buffer.from(text, 'base64');
