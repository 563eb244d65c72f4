import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gwk/core/log';
import { toPublicId } from '@gwk/core/public-ids';
import type { EngineClient } from '@gwk/core/protocol/internal-client';
import type { Outcome, StateChange } from '@gwk/core/protocol/engine';
import { tracing } from '@gwk/core/tracing/tracing';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { Changes } from './commands/edit-commands.js';
import { Connection } from './connection/connection.js';
import { createDriver, type Networks } from './driver/create.js';
import type { Driver, DriverContext, Receipt } from './driver/driver.js';
import { EXIT_CODES } from './exit-codes.js';
import { Live } from './commands/connection-commands.js';
import { EngineMetrics } from './metrics.js';
import type { LeaseTerm } from './internal-api/lease-timing.js';
import { Lease, type Acquired } from './internal-api/lease.js';
import { Port } from './internal-api/client.js';
import { Posters } from './internal-api/batch-senders.js';
import { RedisSide } from './redis/engine-redis.js';
import { Claimer } from './sends/claimer.js';
import { Gate } from './sends/gate.js';
import { Pacing } from './sends/pacing.js';
import { Sender } from './sends/sender.js';
import { Rest } from './small-heap.js';

export interface EngineOptions {
  acquired: Acquired;
  term: LeaseTerm;
  client: EngineClient;
  pod: string;
  ackTimeoutMs: number;
  idleClaimMs: number;
  /** Whether series of the number name its instance. */
  nameInMetrics: boolean;
  networks: Networks;
  log: Logger;
  /** The engine cannot go on: its socket is closed, and the process is to exit with this code. */
  lost: (exitCode: number) => void;
}

/** How long a graceful stop waits for what is under way on the network, for the port, and for its release. */
const STOP_LIMITS = {
  sendsMs: 5_000,
  unlinkMs: 5_000,
  socketMs: 3_000,
  repliesMs: 1_000,
  portMs: 5_000,
  releaseMs: 2_000,
};

/** One number under one lease: what the parts are, and how they are joined. */
export class Engine {
  readonly #options: EngineOptions;
  readonly #log: Logger;
  readonly #port: Port;
  readonly #posters: Posters;
  readonly #lease: Lease;
  readonly #connection: Connection;
  readonly #gate: Gate;
  readonly #pacing: Pacing;
  readonly #claimer: Claimer;
  readonly #sender: Sender;
  readonly #changes: Changes;
  readonly #live: Live;
  readonly #redis: RedisSide;
  readonly #rest = new Rest();
  readonly metrics: EngineMetrics;
  #ending: Promise<void> | undefined;
  /** Of the bell that the next claim is made for. */
  #traced: string | null = null;

  constructor(options: EngineOptions) {
    const { acquired, client, log } = options;
    this.#options = options;
    this.#log = log;
    this.#port = new Port({
      client,
      lease: { epoch: acquired.epoch, holder: acquired.holder },
      log,
      onRefused: (refusal) => void this.#giveUp(refusal),
    });
    this.#posters = new Posters(this.#port, log);
    const driver = createDriver(acquired.instance.kind, this.#driverContext(), options.networks);
    this.#connection = this.#createConnection(driver);
    this.#lease = this.#createLease();
    this.#gate = new Gate(() => this.#connection.open && this.#lease.valid);
    this.#pacing = new Pacing(acquired.messages_per_minute, performance.now());
    this.#sender = this.#createSender(driver);
    this.#changes = new Changes({ driver, gate: this.#gate, ackTimeoutMs: options.ackTimeoutMs });
    this.#live = this.#createLive(driver);
    this.#claimer = this.#createClaimer();
    this.#redis = this.#createRedisSide();
    this.metrics = new EngineMetrics(
      options.nameInMetrics ? toPublicId('instance', acquired.instance.id) : null,
      {
        state: () => this.#connection.state,
        held: () => this.#sender.held,
        lanes: () => this.#sender.lanes,
        leaseMsLeft: () => this.#lease.msLeft,
        redisUp: () => this.#redis.up,
      },
    );
  }

  start(): void {
    this.#lease.start();
    this.#connection.start();
    this.#live.wants(this.#options.acquired);
    this.#redis.start();
    this.#claimer.start();
  }

  get ready(): boolean {
    return this.#lease.valid;
  }

  /** By name. Redis and the network are shown and not required: the engine lives through their loss. */
  get checks(): Record<string, string> {
    return {
      lease: this.#lease.valid ? 'ok' : 'not-held',
      redis: this.#redis.up ? 'ok' : 'unreachable',
      number: this.#connection.state,
    };
  }

  /**
   * Stops in order: nothing new is claimed; sends under way may end; the rest goes back; the socket closes; all that
   * happened is stored; only then the lease is given up.
   */
  stop(): Promise<void> {
    return (this.#ending ??= this.#stop());
  }

  async #stop(): Promise<void> {
    this.#log.info({ held: this.#sender.held }, 'stopping');
    this.#gate.stop();
    await atMost(
      STOP_LIMITS.sendsMs,
      this.#claimer.stop().then(() => this.#sender.drained()),
    );
    this.#gate.end();
    await atMost(STOP_LIMITS.socketMs, this.#connection.stop());
    await atMost(STOP_LIMITS.portMs, this.#posters.drained());
    this.#rest.stop();
    this.#redis.stop();
    this.#lease.stop();
    await this.#port.call('release', {}, STOP_LIMITS.releaseMs).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'the lease was not released and ends by itself');
    });
    this.#port.close();
  }

  /** The number is another's, or nobody's: the socket first, then everything else at once. */
  async #giveUp(why: 'fenced' | 'unauthorized' | 'gone'): Promise<void> {
    this.#log.error({ why }, 'the lease is lost');
    this.#gate.end();
    // A number that was deleted leaves the phone too. Whoever asked for that is to hear of it.
    if (why === 'gone') await atMost(STOP_LIMITS.unlinkMs, this.#leavePhone());
    await atMost(STOP_LIMITS.socketMs, this.#connection.stop());
    await atMost(STOP_LIMITS.repliesMs, this.#redis.replied());
    this.#redis.stop();
    this.#lease.stop();
    if (!this.#ending) this.#options.lost(EXIT_CODES[why]);
  }

  async #leavePhone(): Promise<void> {
    const unlinked = await this.#live.logout();
    if (unlinked) await this.#port.lastWord('unlinked', { id: null }, STOP_LIMITS.releaseMs);
  }

  #driverContext(): DriverContext {
    const { acquired, pod } = this.#options;
    return {
      instanceId: acquired.instance.id,
      pod,
      epoch: acquired.epoch,
      log: this.#log,
      session: {
        read: async (type, keys) =>
          (await this.#port.insist('session-read', { wanted: [{ type, keys }] })).entries,
        write: (entries) => {
          this.#rest.disturb();
          return this.metrics.storing(this.#port.insist('session-write', { entries }));
        },
      },
      leased: () => this.#lease.unexpired,
      readFile: (messageId, read) => this.#port.readFile(messageId, read),
      readSent: async (wa_message_id) => {
        const { built } = await this.#port.insist('sent', { wa_message_id });
        return built === null ? null : Buffer.from(built, 'base64');
      },
      restricted: async (until) =>
        void (await this.#port.insist('restricted', { until: until?.toISOString() ?? null })),
      keepFile: (file, named) => this.#port.keepFile(file, named),
      receipt: async (receipt) => void (await this.#posters.outcomes.push(outcomeOf(receipt))),
      inbound: async (message) => {
        await this.#posters.inbound.push(message);
        this.metrics.received();
      },
    };
  }

  #createConnection(driver: Driver): Connection {
    return new Connection({
      driver,
      stored: this.#options.acquired.instance,
      log: this.#log,
      tell: (change: StateChange) => {
        this.metrics.changed(change);
        this.#posters.states.push(change).catch(() => undefined);
      },
      ended: (reason) => this.metrics.ended(reason),
      show: (session, news) => this.#posters.pairing.push({ session, news }),
      changed: (open) => {
        this.#rest.disturb();
        this.#redis.beat();
        if (!open) return;
        this.#gate.changed();
        this.#claimer.ring();
      },
      replaced: () => {
        this.#log.error('another connection took the number over');
        void this.stop().then(() => this.#options.lost(EXIT_CODES.replaced));
      },
    });
  }

  #createLease(): Lease {
    const { term, acquired } = this.#options;
    return new Lease({
      port: this.#port,
      term,
      renewMs: acquired.renew_ms,
      isConnected: () => this.#connection.open,
      events: {
        unconfirmed: () => {
          this.#log.error('the lease is about to end unrenewed: closing the socket');
          this.#connection.forbid();
        },
        confirmed: () => {
          this.#log.info('the lease is confirmed again');
          this.#connection.permit();
        },
        renewed: (answer) => {
          this.#pacing.setRate(answer.messages_per_minute, performance.now());
          this.#gate.changed();
          this.#claimer.reconsider();
          this.#live.wants(answer);
        },
      },
    });
  }

  #createSender(driver: Driver): Sender {
    return new Sender({
      driver,
      gate: this.#gate,
      log: this.#log,
      ackTimeoutMs: this.#options.ackTimeoutMs,
      storeBuilt: (built) => this.#posters.built.push(built),
      report: (outcome) => this.#posters.outcomes.push(outcome),
      settled: (bell, waiting) => {
        if (bell !== undefined) this.#redis.putAway([bell]);
        if (waiting) this.#claimer.ring();
        else this.#claimer.reconsider();
      },
      returned: () => this.#pacing.giveBack(1),
      concluded: (conclusion, ms) => {
        this.#rest.disturb();
        this.metrics.concluded(conclusion, ms);
      },
      doubted: (message, attempt) => {
        this.metrics.doubted();
        this.#log.warn({ message_id: message.message_id, attempt }, 'no answer yet: sending the same again');
      },
    });
  }

  #createLive(driver: Driver): Live {
    return new Live({
      pod: this.#options.pod,
      connection: this.#connection,
      driver,
      open: () => this.#gate.open,
      stored: () => this.#posters.states.drained(),
      unlinked: async (id) => void (await this.#port.insist('unlinked', { id })),
    });
  }

  #createClaimer(): Claimer {
    return new Claimer({
      pacing: this.#pacing,
      idleClaimMs: this.#options.idleClaimMs,
      open: () => this.#gate.open,
      room: () => this.#sender.room,
      claim: async (claim_id, limit) => {
        const span = tracing.child('claim', this.#traced, { kind: 'client' });
        this.#traced = null;
        const asked = this.#port.claim(claim_id, limit, span.traceparent);
        const messages = await asked.finally(() => span.end());
        this.metrics.claimed();
        return messages;
      },
      accept: (messages, claimId) => this.#sender.accept(messages, claimId),
    });
  }

  #createRedisSide(): RedisSide {
    const { acquired, pod } = this.#options;
    const { url, username, password, key_prefix, ca } = acquired.redis;
    return new RedisSide({
      address: { url, username, password, ca },
      keys: new RedisKeys(key_prefix),
      instanceId: acquired.instance.id,
      epoch: acquired.epoch,
      renewMs: acquired.renew_ms,
      commandKey: Buffer.from(acquired.command_key, 'base64'),
      log: this.#log,
      restoreUser: async () => void (await this.#port.call('redis-user', {})),
      ring: () => this.#claimer.heard(),
      keep: (messageId, entry) => this.#sender.keepBell(messageId, entry),
      heard: (rungAt) => this.metrics.heard(rungAt),
      traced: (traceparent) => (this.#traced = traceparent),
      heartbeat: () => ({
        epoch: acquired.epoch,
        pod,
        state: this.#connection.state,
        since: this.#connection.since.toISOString(),
        at: new Date().toISOString(),
      }),
      handlers: {
        ...this.#changes.handlers,
        renew: () => this.#lease.renewNow(),
        ...this.#live.handlers,
      },
    });
  }
}

function outcomeOf(receipt: Receipt): Outcome {
  return {
    kind: 'receipt',
    wa_message_id: receipt.waMessageId,
    status: receipt.status,
    at: receipt.at.toISOString(),
    ...(receipt.played !== undefined && { played: receipt.played }),
  };
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  const limit = sleep(ms, undefined, { signal: timer.signal }).catch(() => undefined);
  await Promise.race([work.catch(() => undefined), limit]);
  timer.abort();
}
