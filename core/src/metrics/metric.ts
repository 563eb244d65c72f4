/**
 * One metric as Prometheus knows it: what a program makes of it with prom-client, and what its documentation says.
 * Every series of gwk is described by one of these, and by nothing else.
 */
export interface Metric<Label extends string = string> {
  type: 'counter' | 'gauge' | 'histogram';
  /** `gwk_`, base units, `_total` where it only grows. */
  name: string;
  help: string;
  /** Bounded, each: no label takes a value from a request. */
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
