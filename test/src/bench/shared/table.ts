import { cpus, loadavg } from 'node:os';

/** Figures of rounds, as every benchmark prints them: the middle one, and between which they lie. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** @param share from 0 to 1 */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function setting(name: string, otherwise: number): number {
  const value = process.env[name];
  if (value === undefined || value === '') return otherwise;
  const number = Number(value);
  if (!Number.isFinite(number)) throw new Error(`${name} is no number`);
  return number;
}

export const settings = (name: string, otherwise: readonly number[]): number[] =>
  process.env[name] ? process.env[name].split(',').map(Number) : [...otherwise];

/** Processors, Node, and what else keeps the machine busy right now. */
export function machine(): string {
  const model = cpus()[0]?.model.trim() ?? 'processor';
  return `${cpus().length} x ${model}, Node ${process.version}, load of the machine ${loadavg()[0]!.toFixed(1)}`;
}

/** What is under way, beside the table: on standard error. */
export const progress = (what: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${what}\n`);
};

/** One table, filled while it is measured and printed at the end. */
export class Table {
  readonly #rows: string[][] = [];

  constructor(
    readonly title: string,
    readonly columns: readonly string[] = ['median', 'least', 'most'],
  ) {}

  row(name: string, cells: readonly (string | number)[]): this {
    this.#rows.push([name, ...cells.map(String)]);
    return this;
  }

  /** A row of median, least and most. */
  rounds(name: string, values: readonly number[], digits = 0): this {
    const figures = [median(values), Math.min(...values), Math.max(...values)];
    return this.row(
      name,
      figures.map((value) => value.toFixed(digits)),
    );
  }

  print(): void {
    const all = [['', ...this.columns], ...this.#rows];
    const widths = all[0]!.map((_, place) => Math.max(...all.map((row) => (row[place] ?? '').length)));
    const line = (row: readonly string[]) =>
      row
        .map((cell, place) => (place === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[place]! + 2)))
        .join('');
    console.log(`\n${this.title}\n${machine()}\n`);
    for (const row of all) console.log(line(row));
  }
}
