import type { Metric } from './metric.js';

/**
 * What `new Gauge` of prom-client takes, for what is looked at when Prometheus asks. It is told here, once for all
 * programs, and made there: core has no prom-client, and an engine loads but parts of it.
 */
type Read<T> = () => T | Promise<T>;
interface Settable {
  set(value: number): void;
}
interface SettableBy<Label extends string> {
  set(labels: Partial<Record<Label, string | number>>, value: number): void;
}

/** NaN where it cannot be seen. */
export function withCollect(metric: Metric<never>, read: Read<number>) {
  return {
    ...metric,
    async collect(this: Settable): Promise<void> {
      this.set(await read());
    },
  };
}

/** One series for each value of the metric's last label; those of the others, where it has some, are `fixed`. */
export function withLabelCollect<Label extends string>(
  metric: Metric<Label>,
  read: Read<Record<string, number>>,
  fixed: Partial<Record<Label, string>> = {},
) {
  const label = metric.labelNames.at(-1)!;
  return {
    ...metric,
    async collect(this: SettableBy<Label>): Promise<void> {
      for (const [value, amount] of Object.entries(await read())) {
        const labels: Partial<Record<Label, string>> = { ...fixed };
        labels[label] = value;
        this.set(labels, amount);
      }
    },
  };
}
