import type { Metric } from './metric.js';

/**
 * Options for `new Gauge` of prom-client whose value is read at scrape time. Core only builds the options: it does not
 * depend on prom-client, and engines load only parts of it.
 */
type Read<T> = () => T | Promise<T>;
interface Settable {
  set(value: number): void;
}
interface SettableBy<Label extends string> {
  set(labels: Partial<Record<Label, string | number>>, value: number): void;
}

/** @param read returns NaN when the value is unknown */
export function withCollect(metric: Metric<never>, read: Read<number>) {
  return {
    ...metric,
    async collect(this: Settable): Promise<void> {
      this.set(await read());
    },
  };
}

/** One series for each value of the metric's last label. `fixed` holds the values of the other labels. */
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
