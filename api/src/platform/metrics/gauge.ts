import type { Metric } from '@gwk/core/metrics/metric';
import { withCollect, withLabelCollect } from '@gwk/core/metrics/collect';
import { Gauge, type Registry } from 'prom-client';

/** What is looked at when Prometheus asks; NaN where it cannot be seen. */
export function observedGauge(
  registry: Registry,
  metric: Metric<never>,
  read: () => number | Promise<number>,
): void {
  new Gauge({ ...withCollect(metric, read), registers: [registry] });
}

/** The same, with one series for each value of its label. */
export function observedGauges<Label extends string>(
  registry: Registry,
  metric: Metric<Label>,
  read: () => Record<string, number> | Promise<Record<string, number>>,
): void {
  new Gauge<Label>({ ...withLabelCollect(metric, read), registers: [registry] });
}
