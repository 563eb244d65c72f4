import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { PreparationResult } from '../media/prepare/preparer.js';
import type { Conclusion } from './delivery/types.js';

/** What deliveries report. */
export interface DeliveryMetrics {
  concluded(conclusion: Conclusion): void;
}

/** What is looked at when somebody asks. */
export interface Observed {
  inFlight: () => number;
  /** Seconds by which the oldest due delivery is late; 0 where none is. */
  queueAge: () => Promise<number>;
  /** Seconds since the oldest message that is not prepared was accepted; 0 where none is. */
  preparationAge: () => Promise<number>;
}

/** What /metrics of a worker says. */
export class WorkerMetrics implements DeliveryMetrics {
  readonly registry = new Registry();
  readonly #deliveries: Counter<'verdict'>;
  readonly #latency: Histogram;
  readonly #sweeps: Counter<'sweep' | 'result'>;
  readonly #swept: Counter<'sweep'>;
  readonly #preparations: Counter<'result'>;

  constructor({ inFlight, queueAge, preparationAge }: Observed) {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    this.#deliveries = new Counter({
      name: 'gwk_webhook_attempts_total',
      help: 'Attempts to deliver webhooks, by what became of the delivery.',
      labelNames: ['verdict'],
      registers,
    });
    this.#latency = new Histogram({
      name: 'gwk_webhook_latency_seconds',
      help: 'How long webhook destinations took to answer.',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
      registers,
    });
    this.#sweeps = new Counter({
      name: 'gwk_worker_sweeps_total',
      help: 'Passes of the loops of this worker, by result.',
      labelNames: ['sweep', 'result'],
      registers,
    });
    this.#swept = new Counter({
      name: 'gwk_worker_swept_total',
      help: 'What the loops of this worker have dealt with: messages, rows, instances.',
      labelNames: ['sweep'],
      registers,
    });
    new Gauge({
      name: 'gwk_webhook_calls_in_flight',
      help: 'Webhook calls under way in this worker.',
      registers,
      collect() {
        this.set(inFlight());
      },
    });
    new Gauge({
      name: 'gwk_webhook_queue_age_seconds',
      help: 'How late the oldest due delivery is, those under way included; NaN where Postgres does not say.',
      registers,
      async collect() {
        this.set(await queueAge().catch(() => Number.NaN));
      },
    });
    this.#preparations = new Counter({
      name: 'gwk_preparations_total',
      help: 'Messages with files and previews, by what became of their preparation: prepared, retried, unavailable.',
      labelNames: ['result'],
      registers,
    });
    new Gauge({
      name: 'gwk_preparation_age_seconds',
      help: 'How long the oldest message with a file has not been prepared; NaN where Postgres does not say.',
      registers,
      async collect() {
        this.set(await preparationAge().catch(() => Number.NaN));
      },
    });
  }

  concluded({ verdict, latencyMs }: Conclusion): void {
    this.#deliveries.inc({ verdict });
    if (latencyMs !== null) this.#latency.observe(latencyMs / 1000);
  }

  preparation(result: PreparationResult): void {
    this.#preparations.inc({ result });
  }

  passed(sweep: string, ok: boolean, amount: number): void {
    this.#sweeps.inc({ sweep, result: ok ? 'ok' : 'error' });
    if (amount > 0) this.#swept.inc({ sweep }, amount);
  }
}
