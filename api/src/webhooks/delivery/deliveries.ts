import { setTimeout as sleep } from 'node:timers/promises';
import { resolvesWithin } from '@gwk/core/async/timeout';
import { InFlightSet } from '../../platform/in-flight-set.js';
import { Batcher } from '../../platform/batcher.js';
import { failpoint } from '@gwk/core/process/failpoints';
import { toPublicId } from '@gwk/core/ids/ids';
import type { Logger } from '@gwk/core/process/log';
import { tracing, type Span } from '@gwk/core/tracing/tracing';
import type { Dispatcher } from 'undici';
import type { Database } from '../../database/database.js';
import { SigningKeys } from '../secrets.js';
import { readContexts } from '../../platform/trace-contexts.js';
import { Call, WorkerStopping } from './call.js';
import { claimDeliveries } from './claim.js';
import { decideResult, decideUnsendable, returnUncalled, recordResults } from './record-results.js';
import { prepare, type PrepareDeps } from './prepare.js';
import { IDLE_MS, pollDelay } from './schedule.js';
import { Slots } from './slots.js';
import type { ClaimedDelivery, AttemptResult } from './types.js';

export interface DeliveryOptions {
  timeoutMs: number;
  concurrency: number;
  perEndpoint: number;
  /** Time for running calls to end while the worker stops, if it is less than their timeout. */
  drainMs?: number;
}

export interface DeliveryDeps extends Omit<PrepareDeps, 'signingKeys'> {
  db: Database;
  dispatcher: Dispatcher;
  log: Logger;
  onAttempt: (attempt: AttemptResult) => void;
  options: DeliveryOptions;
  now?: () => Date;
}

interface RunningDelivery {
  claimed: ClaimedDelivery;
  call?: Call;
  ended: Promise<void>;
}

const LOCK_MARGIN_MS = 15_000;
/** Delay between two claims while there is work, so that several finished calls share a claim. */
const BUSY_MS = 5;
/** An answer that takes this fraction of the timeout is slow. */
const SLOW_FRACTION = 1 / 5;
const WRITE_RETRY_MS = [100, 250, 500, 1_000, 2_000];
const DRAIN_MS = 10_000;
const STOPPING_WRITE_MS = 3_000;

/**
 * Delivers webhooks: claim -> prepare -> call -> record the result. A claim locks a queue entry for the timeout and a margin.
 * Claimed entries do not wait here, so a lock expires only if its worker died or cannot write; another worker then calls
 * again (at least once). A result is written only under the lock of its call, so none is written twice.
 *
 * The worker polls every 100 ms, and less often if a poll takes long. NOTIFY would serialise all commits that write events.
 */
export class Deliveries {
  readonly #deps: DeliveryDeps;
  readonly #slots: Slots;
  readonly #preparing: PrepareDeps;
  readonly #running = new InFlightSet<RunningDelivery>();
  #polling: Promise<unknown> = Promise.resolve();
  readonly #writer: Batcher<AttemptResult, void>;
  readonly #now: () => Date;
  #stopping = false;
  /** A slot became free after the last poll. */
  #freed = false;
  #wake: () => void = () => undefined;

  constructor(deps: DeliveryDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => new Date());
    this.#preparing = { ...deps, signingKeys: new SigningKeys(deps.sealer) };
    const { concurrency, perEndpoint, timeoutMs } = deps.options;
    this.#slots = new Slots({ total: concurrency, perEndpoint, slowMs: timeoutMs * SLOW_FRACTION });
    this.#writer = new Batcher({ run: (items) => this.#write(items) });
  }

  get inFlight(): number {
    return this.#slots.taken;
  }

  /** Claims and starts due deliveries. @returns the delay before the next poll in milliseconds */
  pass(): Promise<number> {
    const delay = this.#poll();
    this.#polling = delay.catch(() => undefined);
    return delay;
  }

  async #poll(): Promise<number> {
    const { db, options } = this.#deps;
    this.#freed = false;
    const capacity = this.#slots.capacity();
    if (capacity.maxCalls === 0 || this.#stopping) return IDLE_MS;
    const start = performance.now();
    const claimed = await claimDeliveries(db, {
      ...capacity,
      lockMs: options.timeoutMs + LOCK_MARGIN_MS,
      perEndpoint: options.perEndpoint,
    });
    if (tracing.on) await this.#addTraces(claimed);
    for (const item of claimed) this.#start(item);
    if (claimed.length > 0) return BUSY_MS;
    return pollDelay(performance.now() - start);
  }

  /** Waits for the next poll: `ms`, or less if a slot becomes free. */
  async pause(ms: number): Promise<void> {
    // Every finished call wakes it. An AbortSignal would capture a stack trace each time.
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

  /** Lets running calls end for up to 10 s, then returns their deliveries to the queue. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#wake();
    const drained = this.#drain();
    const { timeoutMs, drainMs = DRAIN_MS } = this.#deps.options;
    await resolvesWithin(drained, Math.min(timeoutMs, drainMs));
    for (const { call } of this.#running.items) call?.abort(new WorkerStopping());
    await drained;
  }

  async #drain(): Promise<void> {
    await this.#polling;
    await Promise.all(this.#running.items.map(({ ended }) => ended));
  }

  #start(claimed: ClaimedDelivery): void {
    const running: RunningDelivery = { claimed, ended: Promise.resolve() };
    const entry = this.#running.add(running);
    running.ended = this.#deliver(running)
      .catch((error: unknown) => {
        this.#deps.log.error(
          { err: error, delivery: claimed.deliveryId },
          'webhook delivery interrupted; it is due again when its lock expires',
        );
      })
      .finally(() => this.#running.delete(entry));
  }

  async #deliver(running: RunningDelivery): Promise<void> {
    const { claimed } = running;
    const span = this.#span(claimed);
    const attempt = this.#stopping ? returnUncalled(claimed) : await this.#attempt(running, span.traceparent);
    const { result, statusCode, error } = attempt;
    span.set({
      'gwk.delivery.result': result,
      ...(statusCode && { 'http.response.status_code': statusCode }),
    });
    span.end(error);
    await this.#record(attempt);
    this.#deps.onAttempt(attempt);
  }

  async #addTraces(claimed: readonly ClaimedDelivery[]): Promise<void> {
    const contexts = await readContexts(
      this.#deps.db,
      claimed.map(({ eventId }) => eventId),
    );
    for (const item of claimed) item.traceparent = contexts.get(item.eventId);
  }

  /** The span leaves out the URL of the endpoint, which may contain a secret. */
  #span({ deliveryId, endpointId, event, earlierAttempts, traceparent }: ClaimedDelivery): Span {
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

  async #attempt(running: RunningDelivery, traceparent: string | null): Promise<AttemptResult> {
    const { claimed } = running;
    const { sealer, dispatcher, options } = this.#deps;
    const release = this.#slots.take(claimed.endpointId, claimed.failingSince !== null);
    const start = performance.now();
    let answered: boolean | null = null;
    try {
      const prepared = prepare(claimed, this.#preparing, this.#now());
      if ('error' in prepared) return decideUnsendable(prepared);
      if (traceparent !== null) prepared.headers['traceparent'] = traceparent;
      running.call = new Call(prepared, dispatcher, options.timeoutMs);
      const outcome = await running.call.outcome;
      answered = outcome.statusCode !== null;
      failpoint('worker.after-post');
      return decideResult(outcome, sealer, this.#now());
    } catch (error) {
      if (error instanceof WorkerStopping) return returnUncalled(claimed);
      throw error;
    } finally {
      release({ latencyMs: performance.now() - start, answered });
      this.#freed = true;
      this.#wake();
    }
  }

  /** Retries until the lock expires, when the entry is due again anyway; while stopping, for 3 s. */
  async #record(result: AttemptResult): Promise<void> {
    const start = performance.now();
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#writer.submit(result);
      } catch (error) {
        const retryMs = this.#stopping ? STOPPING_WRITE_MS : LOCK_MARGIN_MS;
        if (performance.now() - start > retryMs) throw error;
        await sleep(WRITE_RETRY_MS[attempt] ?? WRITE_RETRY_MS.at(-1)!);
      }
    }
  }

  async #write(attempts: readonly AttemptResult[]): Promise<void[]> {
    const { db, log } = this.#deps;
    const disabled = await recordResults(db, attempts);
    for (const endpoint of disabled) {
      const results = attempts.filter(({ claimed }) => claimed.endpointId === endpoint);
      const reason = results.find(({ health }) => health?.disable)?.health?.disable;
      log.warn({ endpoint, reason }, 'webhook endpoint disabled');
    }
    return attempts.map(() => undefined);
  }
}
