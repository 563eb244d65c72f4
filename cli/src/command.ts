import { InvalidArgumentError, type Command } from 'commander';
import type { Gwk } from '@gwk/client';
import { createClient } from './gateway/client.js';
import { chooseAccess, readProfiles } from './profiles/profiles.js';
import { CliError } from './errors.js';

export interface CommonOptions {
  profile?: string;
  json?: true;
}

/** A command that calls a gateway. */
export function addCommand(parent: Command, spec: string, description: string): Command {
  return parent
    .command(spec)
    .description(description)
    .option('--profile <name>', 'use a stored gateway (gwk profiles)')
    .option('--json', 'print JSON');
}

/** @throws CliError */
export function openGateway({ profile }: CommonOptions): Gwk {
  const access = chooseAccess(readProfiles(), process.env, profile);
  if (access.key === null)
    throw new CliError('auth', `There is no key for ${access.url}. Run gwk login, or set GWK_API_KEY`);
  return createClient(access);
}

export const print = (text: string): void => void process.stdout.write(`${text}\n`);
/** Remarks that are not the result. */
export const note = (text: string): void => void process.stderr.write(`${text}\n`);

type Row = Readonly<Record<string, unknown>>;

/** Prints items as JSON, one array, or as a table. */
export function printList<T>(
  items: readonly T[],
  columns: Readonly<Record<string, (item: T) => unknown>>,
  { json }: CommonOptions,
): void {
  if (json) return print(JSON.stringify(items, null, 2));
  const rows = items.map((item) => Object.entries(columns).map(([, read]) => writeCell(read(item))));
  print(renderTable(Object.keys(columns), rows));
}

/** Prints the fields of one resource. */
export function printItem(item: object, { json }: CommonOptions): void {
  if (json) return print(JSON.stringify(item, null, 2));
  const fields = Object.entries(item as Row).filter(([, value]) => value !== null);
  const width = Math.max(...fields.map(([name]) => name.length));
  print(fields.map(([name, value]) => `${name.padEnd(width)}  ${writeCell(value)}`).join('\n'));
}

/** Columns with two spaces between them; nothing after the last one. */
export function renderTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heads.map((head) => head.toUpperCase()), ...rows];
  const widths = heads.map((_, index) => Math.max(...lines.map((line) => line[index]!.length)));
  return lines
    .map((line) =>
      line
        .map((cell, index) => cell.padEnd(widths[index]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** One line without control characters, which could change the terminal. */
export function writeCell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replace(/\p{Cc}+/gu, ' ');
}

/** Milliseconds of "90s", "2m", "1h" or "0". @throws InvalidArgumentError */
export function parseDuration(text: string): number {
  const [, amount, unit = 's'] = /^(\d{1,6})(s|m|h)?$/.exec(text) ?? [];
  if (amount === undefined) throw new InvalidArgumentError('a time like 90s, 2m or 1h');
  return Number(amount) * { s: 1_000, m: 60_000, h: 3_600_000 }[unit as 's' | 'm' | 'h'];
}

/** @throws InvalidArgumentError */
export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('a number of at least 1');
  return Number(text);
}
