import type { Metric } from '@gwk/core/metrics/metric';
import { Gauge, type Registry } from 'prom-client';

/** What is looked at when Prometheus asks; NaN where it cannot be seen. */
export function observedGauge(
  registry: Registry,
  metric: Metric<never>,
  read: () => number | Promise<number>,
): void {
  new Gauge({
    ...metric,
    registers: [registry],
    async collect() {
      this.set(await read());
    },
  });
}

/** The same, with one series for each value of its label. */
export function observedGauges<Label extends string>(
  registry: Registry,
  metric: Metric<Label>,
  read: () => Record<string, number> | Promise<Record<string, number>>,
): void {
  const [label] = metric.labelNames;
  new Gauge({
    ...metric,
    registers: [registry],
    async collect() {
      for (const [value, amount] of Object.entries(await read()))
        this.set({ [label!]: value } as Record<Label, string>, amount);
    },
  });
}
