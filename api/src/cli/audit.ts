import { lowestUuidAt } from '@gwk/core/ids';
import type { Command } from 'commander';
import type { Prisma } from '../generated/prisma/client.js';
import { accountNamed, CommandError, integer, print, withDatabase } from './run.js';
import { readTrail, uuidOf } from './audit-log.js';

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
    .description('who changed what, newest first: accounts, keys, instances, policies, webhook destinations')
    .option('--account <name>', 'of this account only')
    .option('--subject <id>', 'of this one only (ins_..., key_..., whe_..., acc_...)')
    .option('--by <actor>', 'done by this one only: a key (key_...), cli:<user>, cluster, gwk:worker')
    .option('--action <action>', 'of this kind only: instance.update, key.create, ...')
    .option('--since <time>', 'not before this time (ISO 8601)')
    .option('--limit <number>', 'so many entries', '50')
    .addHelpText(
      'after',
      '\nDATABASE_URL names the database. Prints JSON. The worker tells the same on its log ("msg":"audit").\n',
    )
    .action((filter: Filter) =>
      withDatabase('audit', async (db) => {
        const limit = integer(1, MAX_ENTRIES)(filter.limit);
        const { account } = filter;
        const accountId = account === undefined ? undefined : (await accountNamed(db, account)).id;
        print(
          await readTrail(db, { ...(accountId !== undefined && { accountId }), ...whereOf(filter) }, limit),
        );
      }),
    );
}

function whereOf({ subject, by, action, since }: Filter): Prisma.AuditEntryWhereInput {
  return {
    ...(subject !== undefined && { subject: known('--subject', subject) }),
    ...(by !== undefined && { actor: by.startsWith('key_') ? `key:${known('--by', by)}` : by }),
    ...(action !== undefined && { action }),
    ...(since !== undefined && { id: { gte: lowestUuidAt(timeOf(since)) } }),
  };
}

function known(option: string, id: string): string {
  const uuid = uuidOf(id);
  if (uuid === null) throw new CommandError(`${option}: "${id}" is no id`);
  return uuid;
}

function timeOf(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time))
    throw new CommandError(`--since: "${text}" is not a time like 2026-01-31T00:00:00Z`);
  return time;
}
