import type { AuditEntryOut } from '../../resources/console/audit.js';

const COLUMNS = ['at', 'actor', 'actor_name', 'action', 'subject', 'detail'] as const;

export const CSV_HEADER = `${COLUMNS.join(',')}\r\n`;

/** Renders an entry as a line of CSV (RFC 4180). */
export const toCsvLine = (entry: AuditEntryOut): string =>
  `${COLUMNS.map((column) => toCell(entry[column])).join(',')}\r\n`;

/**
 * Spreadsheets run a cell that begins like a formula, also with a full-width or small sign. A quote before it makes it text.
 * A spreadsheet that separates cells by semicolons or tabs also begins a cell within ours, and a line at each line break.
 */
const FORMULA =
  /(^|[;\t\r\n])(?=[^\S\t\r\n]*[=+\-@|%\u2212\ufe62\ufe63\ufe66\ufe6a\ufe6b\uff05\uff0b\uff0d\uff1d\uff20\uff5c])/g;
const LEADING_BREAK = /^[\t\r\n]/;

function toCell(value: unknown): string {
  const text = typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
  const safe = text.replace(FORMULA, "$1'").replace(LEADING_BREAK, "'$&");
  return `"${safe.replaceAll('"', '""')}"`;
}
