import { fromPublicId, ID_PREFIXES, lowestUuidAt, type IdKind } from '@gwk/core/ids/ids';
import type { Command } from 'commander';
import { publicNames } from '../accounts/audit-log.js';
import type { Database } from '../database/database.js';
import type { Prisma } from '../generated/prisma/client.js';
import { findAccount, CommandError, parseInteger, printResult } from './run.js';

/** `gwk audit` */
interface Filter {
  account?: string;
  subject?: string;
  by?: string;
  action?: string;
  since?: string;
  limit: string;
}

const MAX_ENTRIES = 10_000;

export function registerAudit(program: Command): void {
  program
    .command('audit')
    .description('show the audit log, newest first: accounts, keys, instances, policies, webhook endpoints')
    .option('--account <name>', 'only entries of this account')
    .option('--subject <id>', 'only entries about this id (ins_..., key_..., whe_..., acc_...)')
    .option(
      '--by <actor>',
      'only entries by this actor: an API key (key_...), cli:<user>, cluster, gwk:worker',
    )
    .option('--action <action>', 'only entries of this action: instance.update, key.create, ...')
    .option('--since <time>', 'only entries from this time on (ISO 8601)')
    .option('--limit <number>', 'maximum number of entries', '50')
    .addHelpText(
      'after',
      '\nDATABASE_URL names the database. Prints JSON. The worker writes the same entries to its log ("msg":"audit").\n',
    )
    .action((filter: Filter) =>
      printResult('audit', async (db) => {
        const { account, limit } = filter;
        const ofAccount = account !== undefined && { accountId: (await findAccount(db, account)).id };
        return readAuditLog(db, { ...ofAccount, ...whereOf(filter) }, limit);
      }),
    );
}

function whereOf({ subject, by, action, since }: Filter): Prisma.AuditEntryWhereInput {
  return {
    ...(subject !== undefined && { subject: requireId('--subject', subject) }),
    ...(by !== undefined && { actor: by.startsWith('key_') ? `key:${requireId('--by', by)}` : by }),
    ...(action !== undefined && { action }),
    ...(since !== undefined && { id: { gte: lowestUuidAt(timeOf(since)) } }),
  };
}

/**
 * Reads the audit log with public ids, newest first.
 * @param limit the option of the command
 */
export async function readAuditLog(db: Database, where: Prisma.AuditEntryWhereInput, limit: string) {
  const take = parseInteger(1, MAX_ENTRIES)(limit);
  const rows = await db.auditEntry.findMany({ where, orderBy: { id: 'desc' }, take });
  return rows.map((row) => ({
    at: row.createdAt.toISOString(),
    ...publicNames(row),
    detail: row.detail,
  }));
}

function requireId(option: string, id: string): string {
  const kinds = Object.keys(ID_PREFIXES) as IdKind[];
  const uuid = kinds.map((kind) => fromPublicId(kind, id)).find((found) => found !== null);
  if (uuid === undefined) throw new CommandError(`${option}: "${id}" is not an id`);
  return uuid;
}

function timeOf(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time))
    throw new CommandError(`--since: "${text}" is not a time like 2026-01-31T00:00:00Z`);
  return time;
}
