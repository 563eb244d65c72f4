import { API_METRICS } from '@gwk/core/metrics/api';
import { collectDefaultMetrics, Histogram, type Registry } from 'prom-client';
import { observedGauge } from '../platform/metrics/gauge.js';
import type { Exchange } from '../http/exchange.js';

/** Metrics of the public listener. */
export class Metrics {
  readonly #durations: Histogram<'operation' | 'status'>;
  readonly #children = new Map<string, { observe(seconds: number): void }>();

  constructor(registry: Registry, inFlight: () => number) {
    collectDefaultMetrics({ register: registry });
    this.#durations = new Histogram({ ...API_METRICS.httpDuration, registers: [registry] });
    observedGauge(registry, API_METRICS.httpInFlight, inFlight);
  }

  /** Cache of metric children: a lookup by labels costs more than an observation. */
  observe(req: Exchange, status: number, seconds: number): void {
    const operation = req.operation?.name ?? 'none';
    const name = `${operation} ${status}`;
    let child = this.#children.get(name);
    if (!child) {
      child = this.#durations.labels({ operation, status: String(status) });
      this.#children.set(name, child);
    }
    child.observe(seconds);
  }
}
