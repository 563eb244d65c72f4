const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** "5.4 GB", in powers of 1000. */
export function formatBytes(bytes: number, language: string): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1);
  const format = { style: 'unit', unit: UNITS[power]!, maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(language, format).format(bytes / 1000 ** power);
}
