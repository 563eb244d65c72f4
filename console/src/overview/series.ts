/** Series of the chart of messages, and columns of its table. */
export const SERIES = [
  { name: 'sent', color: 'teal.7' },
  { name: 'received', color: 'blue.7' },
  { name: 'failed', color: 'red.8' },
] as const;

export const CHART_HEIGHT = 260;

export type LabelledPoint = { label: string } & Record<(typeof SERIES)[number]['name'], number>;
