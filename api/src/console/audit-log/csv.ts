import type { AuditEntryOut } from '@gwk/core/resources/console-audit';

const COLUMNS = ['at', 'actor', 'actor_name', 'action', 'subject', 'detail'] as const;

export const CSV_HEADER = `${COLUMNS.join(',')}\r\n`;

/** Renders an entry as a line of CSV (RFC 4180). */
export const toCsvLine = (entry: AuditEntryOut): string =>
  `${COLUMNS.map((column) => toCell(entry[column])).join(',')}\r\n`;

/** Spreadsheets run a cell that begins like a formula. A quote before it makes it text. */
const FORMULA = /^[\s]*[=+\-@|%]|^[\t\r\n]/;

function toCell(value: unknown): string {
  const text = typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
