/** What is asked of a figure. */
export type Bound = { atLeast: number } | { atMost: number };

/** Stands beside the figure: its bound, and whether it keeps to it. What could not be measured does not. */
export function condition(value: number, bound: Bound): string {
  const [words, met] =
    'atLeast' in bound
      ? [`at least ${bound.atLeast}`, value >= bound.atLeast]
      : [`at most ${bound.atMost}`, value <= bound.atMost];
  return `${words}: ${met ? 'met' : 'NOT MET'}`;
}
