import { setTimeout as sleep } from 'node:timers/promises';
import { InFlightSet } from '@gwk/core/in-flight-set';
import { Batcher } from '@gwk/core/batcher';
import { failpoint } from '@gwk/core/failpoints';
import { toPublicId } from '@gwk/core/ids';
import type { Logger } from '@gwk/core/log';
import type { Sealer } from '@gwk/core/encryption';
import { tracing, type Span } from '@gwk/core/tracing/tracing';
import type { Dispatcher } from 'undici';
import type { Database } from '../../database/database.js';
import type { MediaLinks } from '../../media/links.js';
import type { AddressGuard } from '../../platform/address-guard/guard.js';
import { SigningKeys } from '../signing-keys.js';
import { readContexts } from '../../platform/trace-contexts.js';
import { Call, WorkerStopping } from './call.js';
import { claimDeliveries } from './claim.js';
import { conclude, concludeUnpreparable, giveBack, writeConclusions } from './record-results.js';
import { prepare, type PrepareDeps } from './prepare.js';
import { IDLE_MS, restAfter } from './schedule.js';
import { Slots } from './slots.js';
import type { Called, Claimed, Conclusion, DeliveryMetrics } from './types.js';

/**
 * Deliveries of webhooks: claim -> prepare -> call -> conclude.
 *
 * An entry is locked while it is called, for the time-out and a margin; nothing claimed waits in this process, so the
 * lock of an entry ends only where its worker is gone or cannot write. Then it is due again and posted again: at
 * least once. A result is written only under the lock that its call was made under, so none is written twice.
 *
 * There is no bell: NOTIFY would make all commits that write events wait for each other. The queue is looked at
 * every 100 ms (a look at an empty one is one index look-up), less often where looking takes long.
 */
export interface DeliveryOptions {
  timeoutMs: number;
  concurrency: number;
  perEndpoint: number;
  /** How long calls under way may take to end while the worker stops, if that is less than their time-out. */
  drainMs?: number;
}

export interface DeliveryDeps {
  db: Database;
  sealer: Sealer;
  guard: AddressGuard;
  links: MediaLinks;
  dispatcher: Dispatcher;
  log: Logger;
  metrics: DeliveryMetrics;
  options: DeliveryOptions;
  now?: () => Date;
}

const LOCK_MARGIN_MS = 15_000;
/** Between two claims while there is work: so long that calls of a moment end together. */
const BUSY_MS = 5;
/** An answer that takes this part of the time-out is slow. */
const SLOW_PART = 1 / 5;
const WRITE_RETRY_MS = [100, 250, 500, 1_000, 2_000];
const DRAIN_MS = 10_000;
const STOPPING_WRITE_MS = 3_000;

export class Deliveries {
  readonly #deps: DeliveryDeps;
  readonly #slots: Slots;
  readonly #preparing: PrepareDeps;
  readonly #calls = new InFlightSet<Call>();
  readonly #unfinished = new InFlightSet<Promise<void>>();
  readonly #writer: Batcher<Conclusion, void>;
  readonly #now: () => Date;
  #stopping = false;
  /** A place became free since the last look. */
  #freed = false;
  #wake: () => void = () => undefined;

  constructor(deps: DeliveryDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => new Date());
    const { sealer, guard, links } = deps;
    this.#preparing = { sealer, guard, links, signingKeys: new SigningKeys(sealer) };
    const { concurrency, perEndpoint, timeoutMs } = deps.options;
    this.#slots = new Slots({ total: concurrency, perEndpoint, slowMs: timeoutMs * SLOW_PART });
    this.#writer = new Batcher({ run: (items) => this.#write(items) });
  }

  get inFlight(): number {
    return this.#slots.taken;
  }

  /** One look at the queue. @returns how long the next one can wait (milliseconds) */
  pass(): Promise<number> {
    return this.#track(this.#look());
  }

  async #look(): Promise<number> {
    const { db, options } = this.#deps;
    this.#freed = false;
    const room = this.#slots.room();
    if (room.most === 0 || this.#stopping) return IDLE_MS;
    const start = performance.now();
    const claimed = await claimDeliveries(db, {
      ...room,
      lockMs: options.timeoutMs + LOCK_MARGIN_MS,
      perEndpoint: options.perEndpoint,
    });
    if (tracing.on) await this.#addTraces(claimed);
    for (const item of claimed) this.#start(item);
    if (claimed.length > 0) return BUSY_MS;
    return restAfter(performance.now() - start);
  }

  /** Waits until the next look is due: sooner than `ms` where a place has become free. */
  async pause(ms: number): Promise<void> {
    // Woken by each call that ends: not by an AbortSignal, whose error has a stack to collect.
    if (!this.#freed) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = () => undefined;
    }
    if (this.#freed) await sleep(BUSY_MS);
  }

  /** Calls under way end in their own time, or after 10 s; what they leave is given back. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#wake();
    const drained = this.#drain();
    const { timeoutMs, drainMs = DRAIN_MS } = this.#deps.options;
    const patience = new AbortController();
    await Promise.race([
      drained,
      sleep(Math.min(timeoutMs, drainMs), undefined, { signal: patience.signal }).catch(() => undefined),
    ]);
    patience.abort();
    for (const call of this.#calls.items) call.breakOff(new WorkerStopping());
    await drained;
  }

  async #drain(): Promise<void> {
    while (this.#unfinished.size > 0) await Promise.all(this.#unfinished.items);
  }

  #start(claimed: Claimed): void {
    const running = this.#deliver(claimed).catch((error: unknown) => {
      this.#deps.log.error({ err: error, delivery: claimed.deliveryId }, 'a delivery was left to its lock');
    });
    void this.#track(running);
  }

  /** What `stop` waits for. */
  #track<T>(work: Promise<T>): Promise<T> {
    const ended = work.then(
      () => undefined,
      () => undefined,
    );
    const entry = this.#unfinished.add(ended);
    void ended.then(() => this.#unfinished.delete(entry));
    return work;
  }

  async #deliver(claimed: Claimed): Promise<void> {
    const span = this.#span(claimed);
    const conclusion = this.#stopping ? giveBack(claimed) : await this.#attempt(claimed, span.traceparent);
    const { verdict, statusCode, error } = conclusion;
    span.set({
      'gwk.delivery.verdict': verdict,
      ...(statusCode && { 'http.response.status_code': statusCode }),
    });
    span.end(error);
    await this.#conclude(conclusion);
    this.#deps.metrics.concluded(conclusion);
  }

  async #addTraces(claimed: readonly Claimed[]): Promise<void> {
    const contexts = await readContexts(
      this.#deps.db,
      claimed.map(({ eventId }) => eventId),
    );
    for (const item of claimed) item.traceparent = contexts.get(item.eventId);
  }

  /** Of one attempt. The address is the customer's, and may hold a secret. */
  #span({ deliveryId, endpointId, event, earlierAttempts, traceparent }: Claimed): Span {
    return tracing.child('webhook', traceparent, {
      kind: 'client',
      attributes: {
        'http.request.method': 'POST',
        'gwk.delivery.id': toPublicId('delivery', deliveryId),
        'gwk.endpoint.id': toPublicId('endpoint', endpointId),
        'gwk.delivery.attempt': earlierAttempts + 1,
        ...(event && { 'gwk.event.type': event.type }),
      },
    });
  }

  async #attempt(claimed: Claimed, traceparent: string | null): Promise<Conclusion> {
    const { sealer, dispatcher, options } = this.#deps;
    const free = this.#slots.take(claimed.endpointId, claimed.failingSince !== null);
    const start = performance.now();
    let answered: boolean | null = null;
    try {
      const prepared = prepare(claimed, this.#preparing, this.#now());
      if ('error' in prepared) return concludeUnpreparable(prepared);
      if (traceparent !== null) prepared.headers['traceparent'] = traceparent;
      const called = await this.#call(new Call(prepared, dispatcher, options.timeoutMs));
      answered = called.statusCode !== null;
      failpoint('worker.after-post');
      return conclude(called, sealer, this.#now());
    } catch (error) {
      if (error instanceof WorkerStopping) return giveBack(claimed);
      throw error;
    } finally {
      free({ latencyMs: performance.now() - start, answered });
      this.#freed = true;
      this.#wake();
    }
  }

  async #call(call: Call): Promise<Called> {
    const entry = this.#calls.add(call);
    try {
      return await call.called;
    } finally {
      this.#calls.delete(entry);
    }
  }

  /** Tried for as long as the lock lasts; afterwards the entry is due again anyway. While stopping, not so long. */
  async #conclude(conclusion: Conclusion): Promise<void> {
    const start = performance.now();
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#writer.submit(conclusion);
      } catch (error) {
        const patience = this.#stopping ? STOPPING_WRITE_MS : LOCK_MARGIN_MS;
        if (performance.now() - start > patience) throw error;
        await sleep(WRITE_RETRY_MS[attempt] ?? WRITE_RETRY_MS.at(-1)!);
      }
    }
  }

  async #write(conclusions: readonly Conclusion[]): Promise<void[]> {
    const { db, log } = this.#deps;
    const disabled = await writeConclusions(db, conclusions);
    for (const endpoint of disabled) {
      const reason = conclusions.find((item) => item.endpointId === endpoint && item.health?.disable)?.health
        ?.disable;
      log.warn({ endpoint, reason }, 'webhook destination disabled');
    }
    return conclusions.map(() => undefined);
  }
}
