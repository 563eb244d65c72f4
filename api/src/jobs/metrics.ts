import { WORKER_METRICS } from '@gwk/core/metrics/worker';
import type { AlertChannel } from '../resources/console/alert.js';
import type { Metric } from '@gwk/core/metrics/metric';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { NoticeResult } from '../alerts/notices.js';
import type { PreparationResult } from '../media/prepare/preparer.js';
import { observedGauge } from '../platform/metrics/gauge.js';
import type { Backlog, postgresReaders } from './backlog.js';
import type { FullAccount } from './usage.js';
import type { AttemptResult } from '../webhooks/delivery/types.js';

/** Sources of values that are read at each scrape. Null: Postgres does not answer. */
export type Observed = ReturnType<typeof postgresReaders> & {
  inFlight: () => number;
  fullAccounts: () => Promise<FullAccount[] | null>;
};

/** Metrics of a worker. */
export class WorkerMetrics {
  readonly registry = new Registry();
  readonly #attempts = new Counter({ ...WORKER_METRICS.attempts, registers: [this.registry] });
  readonly #latency = new Histogram({ ...WORKER_METRICS.latency, registers: [this.registry] });
  readonly #alerts = new Counter({ ...WORKER_METRICS.alerts, registers: [this.registry] });
  readonly #jobs = new Counter({ ...WORKER_METRICS.jobRuns, registers: [this.registry] });
  readonly #result = new Counter({ ...WORKER_METRICS.jobItems, registers: [this.registry] });
  readonly #preparations = new Counter({ ...WORKER_METRICS.preparations, registers: [this.registry] });
  readonly #decoding = new Counter({ ...WORKER_METRICS.decodingSeconds, registers: [this.registry] });
  readonly #livenessReads = new Counter({ ...WORKER_METRICS.livenessReads, registers: [this.registry] });
  readonly #due = new Map<string, { everyMs: number; at: number }>();
  readonly #now: () => number;

  constructor(
    { inFlight, backlog, databaseBytes, eventsHeld, fullAccounts }: Observed,
    now: () => number = () => performance.now(),
  ) {
    this.#now = now;
    collectDefaultMetrics({ register: this.registry });
    observedGauge(this.registry, WORKER_METRICS.callsInFlight, inFlight);
    observedGauge(this.registry, WORKER_METRICS.jobOverdue, () => this.#overdue());
    backlogGauges(this.registry, backlog);
    usageGauge(this.registry, fullAccounts);
    const bytes = async () => (await databaseBytes()) ?? Number.NaN;
    observedGauge(this.registry, WORKER_METRICS.databaseBytes, bytes);
    const held = async () => (await eventsHeld()) ?? Number.NaN;
    observedGauge(this.registry, WORKER_METRICS.eventsHeld, held);
  }

  recordAttempt({ result, latencyMs }: AttemptResult): void {
    this.#attempts.inc({ result });
    if (latencyMs !== null) this.#latency.observe({ result }, latencyMs / 1000);
  }

  alert(channel: AlertChannel, result: NoticeResult): void {
    this.#alerts.inc({ channel, result });
  }

  preparation(result: PreparationResult): void {
    this.#preparations.inc({ result });
  }

  decoded(seconds: number, isOver: boolean): void {
    this.#decoding.inc({ budget: isOver ? 'exceeded' : 'within' }, seconds);
  }

  /** Initialises the counters of the liveness source with 0: for Prometheus, a series that begins at 1 has no increase. */
  setLivenessSource(source: string): void {
    for (const result of ['ok', 'error']) this.#livenessReads.inc({ source, result }, 0);
  }

  livenessRead(source: string, ok: boolean): void {
    this.#livenessReads.inc({ source, result: ok ? 'ok' : 'error' });
  }

  /** Registers a job and its interval in milliseconds. */
  expects(job: string, everyMs: number): void {
    this.#due.set(job, { everyMs, at: this.#now() + everyMs });
  }

  passed(job: string, ok: boolean, amount: number): void {
    this.#jobs.inc({ job_name: job, result: ok ? 'ok' : 'error' });
    const due = this.#due.get(job);
    if (ok && due) due.at = this.#now() + due.everyMs;
    if (amount > 0) this.#result.inc({ job_name: job }, amount);
  }

  #overdue(): Record<string, number> {
    const now = this.#now();
    return Object.fromEntries(
      [...this.#due].map(([job, { at }]) => [job, Math.max(0, now - at) / 1000] as const),
    );
  }
}

/** Accounts below the threshold have no series. */
function usageGauge(registry: Registry, read: Observed['fullAccounts']): void {
  new Gauge({
    ...WORKER_METRICS.accountUsage,
    registers: [registry],
    async collect() {
      const accounts = (await read()) ?? [];
      this.reset();
      for (const { account, resource, ratio } of accounts) this.set({ account, resource }, ratio);
    },
  });
}

/** Unknown values are NaN: an old value would look healthy. */
function backlogGauges(registry: Registry, backlog: Observed['backlog']): void {
  const number = (metric: Metric<never>, read: (seen: Backlog) => number): void =>
    observedGauge(registry, metric, async () => {
      const seen = await backlog();
      return seen ? read(seen) : Number.NaN;
    });
  const numbers = (metric: Metric, read: (seen: Backlog) => Record<string, number>): void => {
    let known: string[] = [];
    observedGauge(registry, metric, async () => {
      const seen = await backlog();
      if (!seen) return Object.fromEntries(known.map((value) => [value, Number.NaN]));
      known = Object.keys(read(seen));
      return read(seen);
    });
  };
  number(WORKER_METRICS.queueDeliveries, ({ deliveries }) => deliveries);
  numbers(WORKER_METRICS.queueAge, ({ deliveryAge }) => deliveryAge);
  numbers(WORKER_METRICS.endpoints, ({ endpoints }) => endpoints);
  numbers(WORKER_METRICS.sendMessages, ({ sends }) => sends);
  number(WORKER_METRICS.sendAge, ({ sendAge }) => sendAge);
  number(WORKER_METRICS.sendStalledAge, ({ sendStalledAge }) => sendStalledAge);
  number(WORKER_METRICS.scheduledOverdue, ({ scheduledLate }) => scheduledLate);
  numbers(WORKER_METRICS.instances, ({ instances }) => instances);
  number(WORKER_METRICS.instancesDown, ({ instancesDown }) => instancesDown);
  number(WORKER_METRICS.preparationAge, ({ preparationAge }) => preparationAge);
  number(WORKER_METRICS.retentionOverdue, ({ retentionLate }) => retentionLate);
  number(WORKER_METRICS.partitionsExpired, ({ partitionsExpired }) => partitionsExpired);
}
