import { toPublicId } from '@gwk/core/ids/ids';
import {
  accountName,
  LIMIT_RANGES,
  namespaceName,
  type AccountLimit,
} from '../resources/console/platform.js';
import type { Command } from 'commander';
import {
  changeAccount,
  createAccount,
  readOwnLimits,
  type AccountChange,
  type LimitChange,
} from '../accounts/account-changes.js';
import type { Account, AccountUsage, Prisma } from '../generated/prisma/client.js';
import { readAuditLog } from './audit.js';
import { findAccount, CommandError, parseInteger, printChange, printResult, readActor } from './run.js';

/** `gwk account ...` */
const OPTIONS = {
  maxInstances: 'instances',
  requestsPerMinute: 'requests_per_minute',
  maxMediaBytes: 'media_bytes',
  maxMediaFiles: 'media_files',
  maxEventBytes: 'event_bytes',
} as const satisfies Record<string, AccountLimit>;
type Limits = Partial<Record<keyof typeof OPTIONS, string>>;

const NOTE = '\nDATABASE_URL names the database. Prints JSON. Replicas apply a change within 2 s.\n';

export function registerAccounts(program: Command): void {
  const account = program
    .command('account')
    .description('accounts and their limits')
    .addHelpText('after', NOTE);

  withLimits(account.command('create <name>'))
    .description('create an account')
    .action((name: string, limits: Limits) =>
      printChange('account create', async (tx) => {
        const row = await createAccount(tx, readActor(), {
          name: readName(name),
          limits: readLimits(limits),
        });
        return { id: toPublicId('account', row.id), name: row.name };
      }),
    );

  registerChanges(account);

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

function registerChanges(account: Command): void {
  withLimits(account.command('limits <name>'))
    .description(
      'show what an account stores, and show or change its limits; "default" restores the configured limit',
    )
    .action((name: string, limits: Limits) =>
      printChange('account limits', (tx) => change(tx, name, () => ({ limits: readLimits(limits) }))),
    );

  account
    .command('rename <name> <new_name>')
    .description('rename an account without instances, whose resources would name it')
    .action((name: string, newName: string) =>
      printChange('account rename', (tx) => change(tx, name, () => ({ name: readName(newName) }))),
    );

  for (const [verb, suspended] of [
    ['suspend', true],
    ['resume', false],
  ] as const) {
    account
      .command(`${verb} <name>`)
      .description(suspended ? 'refuse new sends; queued ones wait' : 'allow sends again')
      .action((name: string) =>
        printChange(`account ${verb}`, (tx) => change(tx, name, () => ({ suspended }))),
      );
  }

  for (const [verb, passkeys] of [
    ['allow-passkeys', true],
    ['forbid-passkeys', false],
  ] as const) {
    account
      .command(`${verb} <name>`)
      .description(
        `${passkeys ? 'link' : 'do not link'} phones that require a passkey; GWK_API_PAIRING_PASSKEYS must be on, too`,
      )
      .action((name: string) =>
        printChange(`account ${verb}`, (tx) => change(tx, name, () => ({ passkeys }))),
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
        printChange(`account ${verb}`, (tx) => change(tx, name, toNamespaces(namespace, allowed))),
      );
  }
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
  const limits = readOwnLimits(row);
  return {
    id: toPublicId('account', row.id),
    name: row.name,
    max_instances: limits.instances,
    requests_per_minute: limits.requests_per_minute,
    max_media_bytes: limits.media_bytes,
    max_media_files: limits.media_files,
    max_event_bytes: limits.event_bytes,
    usage: {
      media_bytes: Number(usage?.mediaBytes ?? 0),
      media_files: usage?.mediaFiles ?? 0,
      events: Number(usage?.events ?? 0),
      event_bytes: Number(usage?.eventBytes ?? 0),
    },
    namespaces: row.namespaces,
    passkeys: row.passkeys,
    suspended_at: row.suspendedAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
  };
}

async function change(
  tx: Prisma.TransactionClient,
  name: string,
  wanted: (row: Account) => AccountChange,
): Promise<ReturnType<typeof shown>> {
  const { id } = await findAccount(tx, name);
  await changeAccount(tx, readActor(), { id, change: wanted });
  return shown(await tx.account.findUniqueOrThrow({ where: { id }, ...WITH_USAGE }));
}

/** The given limits; null: the configured default. */
function readLimits(limits: Limits): LimitChange {
  const given = Object.entries(OPTIONS).flatMap(([option, limit]) => {
    const value = limits[option as keyof Limits];
    if (value === undefined) return [];
    const [min, max] = LIMIT_RANGES[limit];
    return [[limit, value === 'default' ? null : parseInteger(min, max)(value)] as const];
  });
  return Object.fromEntries(given);
}

/** @throws CommandError */
function readName(name: string): string {
  const fault = accountName().safeParse(name).error?.issues[0]?.message;
  if (fault !== undefined) throw new CommandError(`invalid account name: ${fault}`);
  return name;
}

/** @throws CommandError */
function toNamespaces(namespace: string, allowed: boolean): (row: Account) => AccountChange {
  if (!namespaceName().safeParse(namespace).success)
    throw new CommandError(`"${namespace}" is not a valid namespace name`);
  return ({ namespaces }) => {
    const others = namespaces.filter((item) => item !== namespace);
    return { namespaces: allowed ? [...others, namespace] : others };
  };
}
