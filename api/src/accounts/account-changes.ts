import { newUuid } from '@gwk/core/ids/ids';
import type { AccountLimit } from '../resources/console/platform.js';
import type { Account, Prisma } from '../generated/prisma/client.js';
import { audit } from './audit-log.js';

/** Changes of accounts by `gwk account` and by administrators of the platform, with their entries in the audit log. */

/** Null: the configured default. */
export type LimitChange = Partial<Record<AccountLimit, number | null | undefined>>;

export interface AccountChange {
  name?: string | undefined;
  limits?: LimitChange | undefined;
  suspended?: boolean | undefined;
  namespaces?: readonly string[] | undefined;
  passkeys?: boolean | undefined;
}

/** A change that the person can correct. */
export class AccountChangeRefused extends Error {
  override name = 'AccountChangeRefused';
  constructor(
    readonly code: 'taken' | 'in-use',
    message: string,
  ) {
    super(message);
  }
}

const COLUMNS = {
  instances: 'maxInstances',
  requests_per_minute: 'requestsPerMinute',
  media_bytes: 'maxMediaBytes',
  media_files: 'maxMediaFiles',
  event_bytes: 'maxEventBytes',
} as const satisfies Record<AccountLimit, keyof Account>;

/** Limits of the plan; null: the configured default. */
export function readOwnLimits(row: Account): Record<AccountLimit, number | null> {
  const entries = Object.entries(COLUMNS).map(([limit, column]) => {
    const value = row[column];
    return [limit, value === null ? null : Number(value)];
  });
  return Object.fromEntries(entries) as Record<AccountLimit, number | null>;
}

/** The columns of the given limits. They are also the detail of the audit log. */
function toColumns(limits: LimitChange): Record<string, number | null> {
  const given = Object.entries(limits).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([limit, value]) => [COLUMNS[limit as AccountLimit], value!]));
}

/** @throws AccountChangeRefused */
export async function createAccount(
  tx: Prisma.TransactionClient,
  actor: string,
  { name, limits = {}, namespaces = [] }: Pick<AccountChange, 'limits' | 'namespaces'> & { name: string },
): Promise<Account> {
  await checkName(tx, name);
  const id = newUuid();
  const columns = toColumns(limits);
  const row = await tx.account.create({ data: { id, name, namespaces: [...namespaces].sort(), ...columns } });
  const detail = { ...columns, ...(namespaces.length > 0 && { namespaces: [...namespaces] }) };
  await audit(tx, { actor, accountId: id, action: 'account.create', subject: id, detail });
  return row;
}

/** @param change gives the new values from the locked row @throws AccountChangeRefused */
export async function changeAccount(
  tx: Prisma.TransactionClient,
  actor: string,
  { id, change }: { id: string; change: (row: Account) => AccountChange },
): Promise<Account> {
  await tx.$queryRaw`SELECT id FROM accounts WHERE id = ${id}::uuid FOR NO KEY UPDATE`;
  const row = await tx.account.findUniqueOrThrow({ where: { id } });
  const given = change(row);
  if (given.name !== undefined && given.name !== row.name) await checkRename(tx, row, given.name);
  const steps = listSteps(row, given);
  for (const { action, detail } of steps)
    await audit(tx, { actor, accountId: id, action: `account.${action}`, subject: id, detail });
  if (steps.length === 0) return row;
  const data = steps.reduce<Prisma.AccountUpdateInput>((all, step) => ({ ...all, ...step.data }), {});
  return tx.account.update({ where: { id }, data });
}

interface Step {
  /** After `account.`. */
  action: string;
  detail?: Prisma.InputJsonObject;
  data: Prisma.AccountUpdateInput;
}

/** The changes, in the order of the audit log. */
function listSteps(
  row: Account,
  { name, limits = {}, suspended, namespaces, passkeys }: AccountChange,
): Step[] {
  const steps: Step[] = [];
  if (name !== undefined && name !== row.name)
    steps.push({ action: 'rename', detail: { name, former: row.name }, data: { name } });
  const columns = toColumns(limits);
  if (Object.keys(columns).length > 0) steps.push({ action: 'limits', detail: columns, data: columns });
  if (suspended !== undefined && suspended !== (row.suspendedAt !== null))
    steps.push({
      action: suspended ? 'suspend' : 'resume',
      data: { suspendedAt: suspended ? new Date() : null },
    });
  if (namespaces !== undefined) steps.push(...listNamespaceSteps(row, namespaces));
  return [...steps, ...listPasskeySteps(row, passkeys)];
}

function listPasskeySteps(row: Account, passkeys: boolean | undefined): Step[] {
  if (passkeys === undefined || passkeys === row.passkeys) return [];
  return [{ action: passkeys ? 'allow-passkeys' : 'forbid-passkeys', data: { passkeys } }];
}

function listNamespaceSteps(row: Account, namespaces: readonly string[]): Step[] {
  const wanted = [...new Set(namespaces)].sort();
  const data = { namespaces: wanted };
  const added = wanted.filter((namespace) => !row.namespaces.includes(namespace));
  const removed = row.namespaces.filter((namespace) => !wanted.includes(namespace));
  return [
    ...added.map((namespace) => ({ action: 'allow-namespace', detail: { namespace }, data })),
    ...removed.map((namespace) => ({ action: 'forbid-namespace', detail: { namespace }, data })),
  ];
}

/** @throws AccountChangeRefused */
async function checkName(tx: Prisma.TransactionClient, name: string): Promise<void> {
  // Two parallel requests for one name take turns.
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`account ${name}`}, 0))`;
  if (await tx.account.findUnique({ where: { name } }))
    throw new AccountChangeRefused('taken', `account "${name}" already exists`);
}

/**
 * Instance resources name their account, so the name is fixed while the account has instances.
 * @throws AccountChangeRefused
 */
async function checkRename(tx: Prisma.TransactionClient, { id, name }: Account, next: string): Promise<void> {
  if ((await tx.instance.count({ where: { accountId: id, deletedAt: null } })) > 0)
    throw new AccountChangeRefused('in-use', `account "${name}" has instances, whose resources name it`);
  await checkName(tx, next);
}
