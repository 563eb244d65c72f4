import { AuditEntryOut, AuditFilterQuery, AuditQuery } from '../../resources/console/audit.js';
import { z } from 'zod';
import { pageSchema } from '../../http/cursor.js';
import { operation } from '../../http/operation.js';
import type { Services } from '../../http/services.js';
import { CSV_HEADER, toCsvLine } from './csv.js';
import { readEntries, viewEntry } from './entries.js';

const PATH = '/console/api/audit-log';
/** Entries contain names of all numbers, keys and members. */
const COMMON = { method: 'GET', scope: null, person: 'audit:read', unrestricted: true, status: 200 } as const;
const MAX_EXPORTED = 100_000;
const EXPORTED_AT_ONCE = 1_000;

const listEntries = operation({
  ...COMMON,
  name: 'listAuditEntries',
  path: PATH,
  summary: 'List the audit log, newest first',
  query: AuditQuery,
  result: pageSchema(AuditEntryOut, 'AuditEntryPage'),
  async handle({ caller: { accountId }, query, services: { db, cursors } }) {
    return cursors.page(
      { accountId, route: `GET ${PATH}`, query },
      (range) => readEntries(db, { accountId, filters: query }, range),
      viewEntry,
    );
  },
});

const exportEntries = operation({
  ...COMMON,
  name: 'exportAuditEntries',
  path: `${PATH}.csv`,
  summary: 'Export the audit log as CSV, newest first',
  description: `At most ${MAX_EXPORTED} entries; choose a shorter time for the rest.`,
  query: AuditFilterQuery,
  result: z.string(),
  resultType: 'text/csv',
  handle: ({ caller: { accountId }, query, services }) => ({
    status: 200,
    type: 'text/csv; charset=utf-8',
    headers: ['Content-Disposition', 'attachment; filename="audit-log.csv"'],
    chunks: renderLines(services, accountId, query),
  }),
});

async function* renderLines(
  { db }: Services,
  accountId: string,
  filters: AuditFilterQuery,
): AsyncGenerator<string> {
  yield CSV_HEADER;
  let before: string | null = null;
  for (let exported = 0; exported < MAX_EXPORTED; exported += EXPORTED_AT_ONCE) {
    const rows = await readEntries(db, { accountId, filters }, { before, limit: EXPORTED_AT_ONCE });
    if (rows.length > 0) yield rows.map((row) => toCsvLine(viewEntry(row))).join('');
    if (rows.length < EXPORTED_AT_ONCE) return;
    before = rows.at(-1)!.id;
  }
}

export const auditLogOperations = [listEntries, exportEntries];
