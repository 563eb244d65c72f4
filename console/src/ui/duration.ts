const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** The two largest units of a duration, for example "1 h 5 min". */
export function formatDuration(seconds: number, language: string): string {
  const parts: string[] = [];
  let rest = Math.round(seconds);
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(count.toLocaleString(language, { style: 'unit', unit, unitDisplay: 'short' }));
  }
  return parts.slice(0, 2).join(' ') || (0).toLocaleString(language, { style: 'unit', unit: 'second' });
}
