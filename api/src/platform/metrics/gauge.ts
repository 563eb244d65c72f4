import type { Metric } from '@gwk/core/metrics/metric';
import { withCollect, withLabelCollect } from '@gwk/core/metrics/collect';
import { Gauge, type Registry } from 'prom-client';

/** A gauge that is read at each scrape; NaN if the read fails. */
export function observedGauge(
  registry: Registry,
  metric: Metric<never>,
  read: () => number | Promise<number>,
): void {
  new Gauge({ ...withCollect(metric, read), registers: [registry] });
}

/** A gauge that is read at each scrape, with one series per label value. */
export function observedGauges<Label extends string>(
  registry: Registry,
  metric: Metric<Label>,
  read: () => Record<string, number> | Promise<Record<string, number>>,
): void {
  new Gauge<Label>({ ...withLabelCollect(metric, read), registers: [registry] });
}
