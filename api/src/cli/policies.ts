import { fromPublicId, toPublicId } from '@gwk/core/ids/ids';
import { describePolicy } from '../accounts/audit-log.js';
import type { PolicyOverrides } from '../policy/policy.js';
import type { Command } from 'commander';
import type { Prisma } from '../generated/prisma/client.js';
import { findAccount, audit, CommandError, printChange, printResult } from './run.js';

/** `gwk policy ...` */
interface Target {
  account?: string;
  instance?: string;
}

export function registerPolicies(program: Command): void {
  const policy = program
    .command('policy')
    .description('policy overrides of accounts and instances')
    .addHelpText(
      'after',
      '\nKeys: active_hours, mass_block, opt_out, menu_ttl_hours, new_contacts_per_day, messages_per_minute, reject_calls.' +
        '\nDATABASE_URL names the database. Prints JSON. A change applies to the next request, and to engines within 10 s.\n',
    );

  withTarget(policy.command('set'), '; a later change of its Instance resource replaces the overrides')
    .description('replace the overrides; {} removes them')
    .requiredOption('--json <overrides>', 'the overrides, as a JSON object (required)')
    .action((options: Target & { json: string }) =>
      printChange('policy set', async (tx) => setPolicy(tx, options, await readOverrides(options.json))),
    );

  withTarget(policy.command('get'))
    .description('show the overrides')
    .action((options: Target) =>
      printResult('policy get', async (db) => {
        const { shown, policy } = await find(db, options);
        return { ...shown, policy };
      }),
    );
}

function withTarget(command: Command, note = ''): Command {
  return command
    .option('--account <name>', 'name of the account')
    .option('--instance <id>', `id of the instance (ins_...)${note}`);
}

async function readOverrides(json: string): Promise<PolicyOverrides> {
  const { parsePolicyOverrides } = await import('../policy/policy.js');
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new CommandError('--json is not valid JSON');
  }
  return parsePolicyOverrides(value);
}

type Reader = Pick<Prisma.TransactionClient, 'account' | 'instance'>;

async function find(db: Reader, { account, instance }: Target) {
  if ((account === undefined) === (instance === undefined)) {
    throw new CommandError('pass either --account or --instance');
  }
  if (account !== undefined) {
    const { id, policy } = await findAccount(db, account);
    return { kind: 'account' as const, id, accountId: id, policy, shown: { account } };
  }
  const id = fromPublicId('instance', instance!);
  const row = id === null ? null : await db.instance.findFirst({ where: { id, deletedAt: null } });
  if (!row) throw new CommandError(`instance "${instance!}" not found`);
  const shown = { instance: toPublicId('instance', row.id) };
  return { kind: 'instance' as const, id: row.id, accountId: row.accountId, policy: row.policy, shown };
}

async function setPolicy(tx: Prisma.TransactionClient, target: Target, overrides: PolicyOverrides) {
  const { kind, id, accountId, shown } = await find(tx, target);
  const policy = overrides as Prisma.InputJsonObject;
  if (kind === 'account')
    await tx.account.update({ where: { id }, data: { policy, policyVersion: { increment: 1 } } });
  else await tx.instance.update({ where: { id }, data: { policy, version: { increment: 1 } } });
  await audit(tx, {
    accountId,
    action: 'policy.set',
    subject: id,
    detail: { policy: describePolicy(policy) },
  });
  return { ...shown, policy };
}
