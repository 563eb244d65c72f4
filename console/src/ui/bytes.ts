const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** "5.4 GB", in powers of 1000. */
export function formatBytes(bytes: number, language: string): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1);
  // The short form of a byte has no plural.
  const unitDisplay = power === 0 ? 'long' : 'short';
  const format = { style: 'unit', unit: UNITS[power]!, unitDisplay, maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(language, format).format(bytes / 1000 ** power);
}
