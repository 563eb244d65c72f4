import { resolvesWithin } from '@gwk/core/async/timeout';
import type { Readiness } from '@gwk/core/http/probes';
import { EngineParts, type EnginePartsOptions } from './engine-parts.js';
import { EXIT_CODES } from './exit-codes.js';
import { drainSenders } from './internal-api/batch-senders.js';
import type { FinalRefusal } from './internal-api/client.js';
import type { EngineMetrics } from './metrics.js';

interface EngineOptions extends EnginePartsOptions {
  /** Called when the engine cannot continue. The socket is closed, and the process must exit with this code. */
  lost: (exitCode: number) => void;
}

/** Time limits of a graceful stop, in milliseconds. */
const STOP_LIMITS = {
  sendsMs: 5_000,
  unlinkMs: 5_000,
  socketMs: 3_000,
  repliesMs: 1_000,
  drainMs: 5_000,
  releaseMs: 2_000,
};

/** Runs one instance under one lease: starts its parts, and ends them in order. */
export class Engine {
  readonly #options: EngineOptions;
  readonly #parts: EngineParts;
  #ending: Promise<void> | undefined;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#parts = new EngineParts(options, {
      refused: (why) => void this.#giveUp(why),
      replaced: () => {
        options.log.error('another connection with the same credentials took over');
        void this.stop().then(() => options.lost(EXIT_CODES.replaced));
      },
    });
  }

  get metrics(): EngineMetrics {
    return this.#parts.metrics;
  }

  /** Redis and the network are reported but do not affect readiness, because the engine survives their loss. */
  get readiness(): Readiness {
    const { lease, redis, connection } = this.#parts;
    const ready = lease.valid;
    const checks = {
      lease: ready ? 'ok' : 'not-held',
      redis: redis.up ? 'ok' : 'unreachable',
      connection: connection.state,
    };
    return { ready, checks };
  }

  start(): void {
    const { lease, connection, commands, redis, sends } = this.#parts;
    lease.start();
    connection.handle({ kind: 'start' });
    commands.applyRequests(this.#options.acquired);
    redis.start();
    sends.start();
  }

  /**
   * Stops in this order: claim nothing new; let sends in progress finish; return the rest; close the socket; store
   * every outcome; release the lease.
   */
  stop(): Promise<void> {
    return (this.#ending ??= this.#stop());
  }

  async #stop(): Promise<void> {
    const { sends, connection, senders, idleCollector, redis, lease, api } = this.#parts;
    const { log } = this.#options;
    log.info({ held: sends.held }, 'stopping');
    await sends.stop(STOP_LIMITS.sendsMs);
    await resolvesWithin(connection.stop(), STOP_LIMITS.socketMs);
    await resolvesWithin(drainSenders(senders), STOP_LIMITS.drainMs);
    idleCollector.stop();
    redis.stop();
    lease.stop();
    await api.call('release', {}, STOP_LIMITS.releaseMs).catch((error: unknown) => {
      log.warn({ err: error }, 'lease not released; it expires on its own');
    });
    api.close();
  }

  /** Another engine, or nobody, owns the instance now: closes the socket first, then everything else at once. */
  async #giveUp(why: FinalRefusal): Promise<void> {
    const { sends, connection, redis, lease } = this.#parts;
    this.#options.log.error({ why }, 'lease lost');
    sends.end();
    // The device of a deleted instance is unlinked too, and the caller of the deletion gets the result.
    if (why === 'gone') await resolvesWithin(this.#unlinkDevice(), STOP_LIMITS.unlinkMs);
    await resolvesWithin(connection.stop(), STOP_LIMITS.socketMs);
    await resolvesWithin(redis.waitForReplies(), STOP_LIMITS.repliesMs);
    redis.stop();
    lease.stop();
    if (!this.#ending) this.#options.lost(EXIT_CODES[why]);
  }

  async #unlinkDevice(): Promise<void> {
    if (!(await this.#parts.commands.logout())) return;
    const { client, acquired, log } = this.#options;
    const { epoch, holder } = acquired;
    // The refusal has closed the client of the lease.
    const call = client.call('unlinked', { id: null, epoch, holder }, STOP_LIMITS.releaseMs);
    await call.catch((error: unknown) => {
      log.info({ route: 'unlinked', err: error }, 'final call to the internal API failed');
    });
  }
}
