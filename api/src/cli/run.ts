import { userInfo } from 'node:os';
import { ConfigError, loadCommandConfig, type ConfigOf } from '@gwk/core/config/load';
import { commandSettings } from '@gwk/core/config/commands';
import { encryptionKeys } from '@gwk/core/config/shared';
import { describeError } from '@gwk/core/process/log';
import { Problem } from '@gwk/core/problems/problems';
import { Sealer, SealError } from '@gwk/core/crypto/encryption';
import { AccountChangeRefused } from '../accounts/account-changes.js';
import { audit as writeAudit, type AuditedChange } from '../accounts/audit-log.js';
import type { Database, DatabaseOptions } from '../database/database.js';
import type { Prisma } from '../generated/prisma/client.js';
import { WrongEncryptionKey } from '../database/key-check.js';
import { UnusablePooler } from '../database/connection.js';

/** Commands print JSON on standard output and errors as one line on standard error. */
const EXIT_FAILED = 1;
const EXIT_CONFIGURATION = 2;

/** A failure of a command that the user can fix. */
export class CommandError extends Error {
  override name = 'CommandError';
}

export function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export async function runCommand(
  name: string,
  work: (config: ConfigOf<typeof commandSettings>) => Promise<void>,
): Promise<void> {
  try {
    await work(loadCommandConfig(commandSettings, process.env));
  } catch (error) {
    process.stderr.write(`gwk ${name}: ${explain(error)}\n`);
    const wrongSetting = error instanceof ConfigError || error instanceof UnusablePooler;
    process.exitCode = wrongSetting ? EXIT_CONFIGURATION : EXIT_FAILED;
  }
}

/** No statement timeout, for commands whose time grows with the database; the user can interrupt them. */
export const LONG = { statementTimeoutMs: 0 };

/** @throws ConfigError */
export function readSealer(): Sealer {
  return new Sealer(loadCommandConfig({ encryptionKeys }, process.env).encryptionKeys);
}

/** Runs a command with the database and prints its result. */
export function printResult(
  name: string,
  work: (db: Database) => Promise<unknown>,
  options: Pick<DatabaseOptions, 'statementTimeoutMs'> = {},
): Promise<void> {
  return runCommand(name, async ({ databaseUrl: url, databaseCa: ca }) => {
    const { openDatabase } = await import('../database/database.js');
    if (options.statementTimeoutMs === 0) {
      const { requireSession } = await import('../database/pooler.js');
      await requireSession({ url, ca });
    }
    const db = openDatabase({ url, ca, poolSize: 2, program: 'gwk-cli', ...options });
    try {
      print(await work(db));
    } finally {
      await db.$disconnect();
    }
  });
}

/** Runs a change in one transaction and prints its result. */
export function printChange(
  name: string,
  change: (tx: Prisma.TransactionClient) => Promise<unknown>,
): Promise<void> {
  return printResult(name, (db) => db.$transaction(change));
}

/** Errors whose messages are written for users. */
const USER_ERRORS = [
  CommandError,
  AccountChangeRefused,
  ConfigError,
  SealError,
  WrongEncryptionKey,
  UnusablePooler,
];

function explain(error: unknown): string {
  if (USER_ERRORS.some((kind) => error instanceof kind)) return (error as Error).message;
  if (error instanceof Problem) {
    const faults = (error.extras.errors ?? []).map(({ path, message }) => `${path}: ${message}`);
    return [error.message, ...faults].join('\n  ');
  }
  const { message, code } = describeError(error) as { message?: string; code?: string };
  const unmigrated = ['P2021', 'P2022'].includes(code ?? '');
  const known = unmigrated ? ' (is the database migrated? gwk migrate)' : '';
  return `${message ?? 'failed'}${code === undefined ? '' : ` [${code}]`}${known}`;
}

/** Writes an audit log entry for a change by a command. */
export function audit(tx: Prisma.TransactionClient, change: Omit<AuditedChange, 'actor'>): Promise<void> {
  return writeAudit(tx, { actor: readActor(), ...change });
}

/** The author of changes by commands, for the audit log. */
export const readActor = (): string =>
  `cli:${loadCommandConfig(commandSettings, process.env).actor ?? userName()}`;

/** Returns the user name, or the user id in a container without a name for it. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}

/** @throws CommandError */
export async function findAccount(tx: Pick<Prisma.TransactionClient, 'account'>, name: string) {
  const account = await tx.account.findUnique({ where: { name } });
  if (!account) throw new CommandError(`account "${name}" not found (gwk account list)`);
  return account;
}

/** Creates the parser of a numeric option. */
export function parseInteger(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new CommandError(`"${text}" is not a whole number from ${min} to ${max}`);
    }
    return value;
  };
}
