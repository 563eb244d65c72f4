import { Histogram, type Registry } from 'prom-client';

/** Calls of engines and the operator, by route and status. */
export class InternalMetrics {
  readonly #durations: Histogram<'route' | 'status'>;

  constructor(registry: Registry) {
    this.#durations = new Histogram({
      name: 'gwk_internal_call_duration_seconds',
      help: 'Calls to the internal listener, by route and status.',
      labelNames: ['route', 'status'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers: [registry],
    });
  }

  observe(route: string, status: number, seconds: number): void {
    this.#durations.labels({ route, status: String(status) }).observe(seconds);
  }
}
