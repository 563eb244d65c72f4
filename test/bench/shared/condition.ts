/** Bound of a measured value. */
export type Bound = { atLeast: number } | { atMost: number };

/** Formats the bound and whether the value meets it. A missing value does not. */
export function condition(value: number, bound: Bound): string {
  const [words, met] =
    'atLeast' in bound
      ? [`at least ${bound.atLeast}`, value >= bound.atLeast]
      : [`at most ${bound.atMost}`, value <= bound.atMost];
  return `${words}: ${met ? 'met' : 'NOT MET'}`;
}
