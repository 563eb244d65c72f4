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

const define =
  (type: Metric['type']) =>
  <const Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
  ): Metric<Label> => ({ type, name, help, labelNames });

export const counter = define('counter');
export const gauge = define('gauge');
export const histogram = <const Label extends string = never>(
  name: string,
  help: string,
  buckets: number[],
  labelNames: readonly Label[] = [],
) => ({ type: 'histogram', name, help, labelNames, buckets }) satisfies Metric<Label>;
