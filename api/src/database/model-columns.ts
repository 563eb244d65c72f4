import { Prisma } from '../generated/prisma/client.js';

/** Every column has the name of its field in snake case; a test of schema.prisma checks it. */
export const toColumn = (field: string): string =>
  field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const toField = (column: string): string =>
  column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

/**
 * Lists columns for SQL, named as Prisma names them: for statements that return rows of a model.
 * @param row alias of the table, or a value of its type in brackets
 */
export function selectFields(fields: readonly string[], row: string): Prisma.Sql {
  return Prisma.raw(fields.map((field) => `${row}."${toColumn(field)}" AS "${field}"`).join(', '));
}

/** Names the columns of the rows of an SQL function as Prisma names fields. */
export function toFields<Row>(rows: readonly Record<string, unknown>[]): Row[] {
  const names = Object.keys(rows[0] ?? {}).map((column) => [column, toField(column)] as const);
  return rows.map((row) => Object.fromEntries(names.map(([column, field]) => [field, row[column]])) as Row);
}
