import { condition, type Bound } from './condition.js';
import { median } from './statistics.js';
import { heading } from './heading.js';

export function setting(name: string, otherwise: number): number {
  const value = process.env[name];
  if (value === undefined || value === '') return otherwise;
  const number = Number(value);
  if (!Number.isFinite(number)) throw new Error(`${name} is not a number`);
  return number;
}

export const settings = (name: string, otherwise: readonly number[]): number[] =>
  process.env[name] ? process.env[name].split(',').map(Number) : [...otherwise];

/** Prints progress to standard error, beside the table. */
export const progress = (what: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${what}\n`);
};

/**
 * Results of rounds, in the same format for every benchmark. It is filled during the measurement and printed at the
 * end.
 */
export class Table {
  readonly #rows: string[][] = [];

  constructor(
    readonly title: string,
    readonly columns: readonly string[] = ['median', 'min', 'max'],
  ) {}

  row(name: string, cells: readonly (string | number)[]): this {
    this.#rows.push([name, ...cells.map(String)]);
    return this;
  }

  /**
   * Adds a row with the median, minimum and maximum.
   *
   * @param bound of the median
   */
  rounds(name: string, values: readonly number[], digits = 0, bound?: Bound): this {
    const middle = median(values);
    const figures = [middle, Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits));
    return this.row(name, bound ? [...figures, condition(middle, bound)] : figures);
  }

  print(): void {
    const all = [['', ...this.columns], ...this.#rows];
    // Condition cells have no column header.
    const places = Math.max(...all.map(({ length }) => length));
    const widths = Array.from({ length: places }, (_, place) =>
      Math.max(...all.map((row) => (row[place] ?? '').length)),
    );
    const line = (row: readonly string[]) =>
      row
        .map((cell, place) => (place === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[place]! + 2)))
        .join('');
    console.log(`\n${this.title}\n${heading()}\n`);
    for (const row of all) console.log(line(row));
  }
}
