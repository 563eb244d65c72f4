import { withCollect, type Reading } from '@gwk/core/metrics/collect';
import type { Metric } from '@gwk/core/metrics/metric';
import { Gauge, type Registry } from 'prom-client';

/** A gauge that is read at each scrape. */
export function observedGauge<Label extends string>(
  registry: Registry,
  metric: Metric<Label>,
  read: () => Reading | Promise<Reading>,
): void {
  new Gauge<Label>({ ...withCollect(metric, read), registers: [registry] });
}
