import { API_METRICS } from '@gwk/core/metrics/api';
import { Histogram, type Registry } from 'prom-client';

/** Metrics of calls to the internal API, by route and status. */
export class InternalMetrics {
  readonly #durations: Histogram<'route' | 'status'>;

  constructor(registry: Registry) {
    this.#durations = new Histogram({ ...API_METRICS.internalDuration, registers: [registry] });
  }

  observe(route: string, status: number, seconds: number): void {
    this.#durations.labels({ route, status: String(status) }).observe(seconds);
  }
}
