import { InvalidArgumentError, type Command } from 'commander';
import type { Gwk } from '@gwk/client';
import { cleanLine, cleanText } from '@gwk/core/process/clean-text';
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

/** For what this program has made itself, such as a QR code. */
export const printRaw = (text: string): void => void process.stdout.write(`${text}\n`);
export const print = (text: string): void => printRaw(cleanText(text));
/** Remarks that are not the result. */
export const note = (text: string): void => void process.stderr.write(`${cleanText(text)}\n`);

/** JSON of the same value, with characters escaped that could change the terminal. */
export const renderJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(
    /[\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

type Row = Readonly<Record<string, unknown>>;

/** Prints items as JSON, one array, or as a table. */
export function printList<T>(
  items: readonly T[],
  columns: Readonly<Record<string, (item: T) => unknown>>,
  { json }: CommonOptions,
): void {
  if (json) return print(renderJson(items, 2));
  const rows = items.map((item) => Object.entries(columns).map(([, read]) => writeCell(read(item))));
  print(renderTable(Object.keys(columns), rows));
}

/** Prints the fields of one resource. */
export function printItem(item: object, { json }: CommonOptions): void {
  if (json) return print(renderJson(item, 2));
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
  return cleanLine(typeof value === 'string' ? value : JSON.stringify(value));
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
