import { newUuid, toPublicId } from '@gwk/core/ids';
import { text } from '@gwk/core/resources/common';
import type { Command } from 'commander';
import type { Account, AccountUsage, Prisma } from '../generated/prisma/client.js';
import { readAuditLog } from './audit.js';
import { findAccount, audit, CommandError, parseInteger, printChange, printResult } from './run.js';

/** `gwk account ...` */
interface Limits {
  maxInstances?: string;
  requestsPerMinute?: string;
  maxMediaBytes?: string;
  maxMediaFiles?: string;
  maxEventBytes?: string;
}

/** Fields of the row with their smallest and largest value. */
const RANGES = {
  maxInstances: [0, 1_000_000],
  requestsPerMinute: [1, 100_000_000],
  maxMediaBytes: [0, 1_000_000_000_000_000],
  maxMediaFiles: [0, 100_000_000],
  maxEventBytes: [0, 1_000_000_000_000_000],
} as const satisfies Record<keyof Limits, [number, number]>;

const NOTE = '\nDATABASE_URL names the database. Prints JSON. Replicas apply a change within 2 s.\n';

export function registerAccounts(program: Command): void {
  const account = program
    .command('account')
    .description('accounts and their limits')
    .addHelpText('after', NOTE);

  withLimits(account.command('create <name>'))
    .description('create an account')
    .action((name: string, limits: Limits) =>
      printChange('account create', (tx) => createAccount(tx, name, limits)),
    );

  withLimits(account.command('limits <name>'))
    .description(
      'show what an account stores, and show or change its limits; "default" restores the configured limit',
    )
    .action((name: string, limits: Limits) =>
      printChange('account limits', async (tx) => readShown(tx, await changeLimits(tx, name, limits))),
    );

  for (const [verb, suspended] of [
    ['suspend', true],
    ['resume', false],
  ] as const) {
    account
      .command(`${verb} <name>`)
      .description(suspended ? 'refuse new sends; queued ones wait' : 'allow sends again')
      .action((name: string) =>
        printChange(`account ${verb}`, async (tx) => readShown(tx, await setSuspended(tx, name, suspended))),
      );
  }

  for (const [verb, allowed] of [
    ['allow-namespace', true],
    ['forbid-namespace', false],
  ] as const) {
    account
      .command(`${verb} <name> <namespace>`)
      .description(`${allowed ? 'allow' : 'forbid'} Instances of a Kubernetes namespace to use the account`)
      .action((name: string, namespace: string) =>
        printChange(`account ${verb}`, async (tx) =>
          readShown(tx, await setNamespace(tx, name, { namespace, allowed })),
        ),
      );
  }

  account
    .command('list')
    .description('list all accounts, with their limits and what they store')
    .action(() =>
      printResult('account list', async (db) =>
        (await db.account.findMany({ ...WITH_USAGE, orderBy: { name: 'asc' } })).map(shown),
      ),
    );
  registerLog(account);
}

function registerLog(account: Command): void {
  account
    .command('log <name>')
    .description(
      'show the audit log of an account, newest first: keys, limits, policies, instances, webhook endpoints',
    )
    .option('--limit <number>', 'maximum number of entries', '50')
    .action((name: string, { limit }: { limit: string }) =>
      printResult('account log', async (db) =>
        readAuditLog(db, { accountId: (await findAccount(db, name)).id }, limit),
      ),
    );
}

function withLimits(command: Command): Command {
  return command
    .option('--max-instances <number>', 'maximum number of instances, without sandboxes')
    .option('--requests-per-minute <number>', 'requests per minute per API key')
    .option('--max-media-bytes <number>', 'bytes of stored files')
    .option('--max-media-files <number>', 'number of stored files')
    .option('--max-event-bytes <number>', 'bytes of kept events');
}

type AccountWithUsage = Account & { usage: AccountUsage | null };
const WITH_USAGE = { include: { usage: true } } as const;

function shown(row: AccountWithUsage) {
  const { usage } = row;
  return {
    id: toPublicId('account', row.id),
    name: row.name,
    max_instances: row.maxInstances,
    requests_per_minute: row.requestsPerMinute,
    max_media_bytes: numberOrNull(row.maxMediaBytes),
    max_media_files: row.maxMediaFiles,
    max_event_bytes: numberOrNull(row.maxEventBytes),
    usage: {
      media_bytes: Number(usage?.mediaBytes ?? 0),
      media_files: usage?.mediaFiles ?? 0,
      events: Number(usage?.events ?? 0),
      event_bytes: Number(usage?.eventBytes ?? 0),
    },
    namespaces: row.namespaces,
    suspended_at: row.suspendedAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
  };
}

const readShown = async (tx: Prisma.TransactionClient, { id }: Account) =>
  shown(await tx.account.findUniqueOrThrow({ where: { id }, ...WITH_USAGE }));

const numberOrNull = (value: bigint | null): number | null => (value === null ? null : Number(value));

/** The given limits; null: the configured default. */
function readLimits(limits: Limits): Partial<Record<keyof Limits, number | null>> {
  const given = Object.entries(RANGES).flatMap(([name, [min, max]]) => {
    const value = limits[name as keyof Limits];
    if (value === undefined) return [];
    return [[name, value === 'default' ? null : parseInteger(min, max)(value)] as const];
  });
  return Object.fromEntries(given);
}

async function createAccount(tx: Prisma.TransactionClient, name: string, limits: Limits) {
  const fault = text(1, 80).safeParse(name).error?.issues[0]?.message;
  if (fault !== undefined) throw new CommandError(`invalid account name: ${fault}`);
  if (await tx.account.findUnique({ where: { name } })) {
    throw new CommandError(`account "${name}" already exists`);
  }
  const data = readLimits(limits);
  const row = await tx.account.create({ data: { id: newUuid(), name, ...data } });
  await audit(tx, { accountId: row.id, action: 'account.create', subject: row.id, detail: data });
  return { id: toPublicId('account', row.id), name: row.name };
}

async function changeLimits(tx: Prisma.TransactionClient, name: string, limits: Limits): Promise<Account> {
  const row = await findAccount(tx, name);
  const data = readLimits(limits);
  if (Object.keys(data).length === 0) return row;
  await audit(tx, { accountId: row.id, action: 'account.limits', subject: row.id, detail: data });
  return tx.account.update({ where: { id: row.id }, data });
}

async function setSuspended(
  tx: Prisma.TransactionClient,
  name: string,
  suspended: boolean,
): Promise<Account> {
  const row = await findAccount(tx, name);
  if ((row.suspendedAt !== null) === suspended) return row;
  const action = suspended ? 'account.suspend' : 'account.resume';
  await audit(tx, { accountId: row.id, action, subject: row.id });
  return tx.account.update({ where: { id: row.id }, data: { suspendedAt: suspended ? new Date() : null } });
}

async function setNamespace(
  tx: Prisma.TransactionClient,
  name: string,
  change: { namespace: string; allowed: boolean },
): Promise<Account> {
  const row = await findAccount(tx, name);
  const { namespace, allowed } = change;
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)) {
    throw new CommandError(`"${namespace}" is not a valid namespace name`);
  }
  const others = row.namespaces.filter((item) => item !== namespace);
  const action = allowed ? 'account.allow-namespace' : 'account.forbid-namespace';
  await audit(tx, { accountId: row.id, action, subject: row.id, detail: { namespace } });
  return tx.account.update({
    where: { id: row.id },
    data: { namespaces: allowed ? [...others, namespace].sort() : others },
  });
}
