import type { Metric } from './metric.js';

/** A value, or one for each value of the metric's last label. NaN: unknown. */
export type Reading = number | Record<string, number>;

interface Settable<Label extends string> {
  set(labels: Partial<Record<Label, string | number>>, value: number): void;
}

/**
 * Options for `new Gauge` of prom-client that is read at each scrape. Core only builds the options: it does not depend
 * on prom-client, and engines load only parts of it.
 *
 * @param fixed values of the labels that `read` does not give
 */
export function withCollect<Label extends string>(
  metric: Metric<Label>,
  read: () => Reading | Promise<Reading>,
  fixed: Partial<Record<Label, string>> = {},
) {
  return {
    ...metric,
    async collect(this: Settable<Label>): Promise<void> {
      const reading = await read();
      if (typeof reading === 'number') return this.set(fixed, reading);
      const label = metric.labelNames.at(-1)!;
      for (const [value, amount] of Object.entries(reading)) this.set({ ...fixed, [label]: value }, amount);
    },
  };
}
