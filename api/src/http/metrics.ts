import { collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';
import type { Exchange } from './exchange.js';

/** What /metrics says of this process. */
export class Metrics {
  readonly #durations: Histogram<'operation' | 'status'>;
  readonly #children = new Map<string, { observe(seconds: number): void }>();

  constructor(registry: Registry, inFlight: () => number) {
    collectDefaultMetrics({ register: registry });
    this.#durations = new Histogram({
      name: 'gwk_http_request_duration_seconds',
      help: 'Requests to the public listener, by operation and status.',
      labelNames: ['operation', 'status'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers: [registry],
    });
    new Gauge({
      name: 'gwk_http_requests_in_flight',
      help: 'Requests being answered now.',
      registers: [registry],
      collect() {
        this.set(inFlight());
      },
    });
  }

  /** Children are kept: looking labels up costs more than counting. */
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
