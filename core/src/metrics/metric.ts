/**
 * One Prometheus metric. Programs create it with prom-client, and docs/metrics.md lists it. All series of gwk except
 * the Node.js defaults come from such a definition.
 */
export interface Metric<Label extends string = string> {
  type: 'counter' | 'gauge' | 'histogram';
  /** Starts with `gwk_`, has the base unit as suffix, and `_total` for counters. */
  name: string;
  help: string;
  /** The values of a label are bounded: no label takes its value from a request. */
  labelNames: readonly Label[];
  /** Upper bounds, in the unit of the name. */
  buckets?: number[];
}

type MetricOptions<Label extends string> = Pick<Metric, 'name' | 'help'> & { labelNames?: readonly Label[] };

export const counter = <const Label extends string = never>(
  options: MetricOptions<Label>,
): Metric<Label> => ({
  type: 'counter',
  labelNames: [],
  ...options,
});

export const gauge = <const Label extends string = never>(options: MetricOptions<Label>): Metric<Label> => ({
  type: 'gauge',
  labelNames: [],
  ...options,
});

export const histogram = <const Label extends string = never>(
  options: MetricOptions<Label> & { buckets: number[] },
): Metric<Label> & { buckets: number[] } => ({ type: 'histogram', labelNames: [], ...options });
