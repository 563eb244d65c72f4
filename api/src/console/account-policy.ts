import { AccountPolicyOut, AccountPolicyUpdate } from '../resources/console/account.js';
import { parsePolicyOverrides, resolvePolicy, type PolicyOverrides } from '../policy/policy.js';
import { isDeepStrictEqual } from 'node:util';
import { audit, byCaller, describePolicy } from '../accounts/audit-log.js';
import type { Account, Prisma } from '../generated/prisma/client.js';
import { checkIfMatch, formatEtag } from '../http/etag.js';
import { operation } from '../http/operation.js';
import type { Services } from '../http/services.js';
import { renewTerms } from '../engine-commands/ask-engine.js';
import { lockAccountByName } from '../instances/projection.js';

const PATH = '/console/api/account/policy';

const getAccountPolicy = operation({
  name: 'getAccountPolicy',
  method: 'GET',
  path: PATH,
  summary: 'Show the policy of the account, and which level each value comes from',
  scope: null,
  person: 'account:read',
  status: 200,
  result: AccountPolicyOut,
  etag: true,
  async handle({ caller, services }) {
    const row = await services.db.account.findUniqueOrThrow({ where: { id: caller.accountId } });
    return answer(row, services);
  },
});

const updateAccountPolicy = operation({
  name: 'updateAccountPolicy',
  method: 'PATCH',
  path: PATH,
  summary: 'Replace the policy overrides of the account',
  description:
    'They hold for all numbers that do not override them, within 2 s on every replica, and in the engines at once. An empty object or null removes them.',
  scope: null,
  person: 'account:write',
  unrestricted: true,
  status: 200,
  body: AccountPolicyUpdate,
  result: AccountPolicyOut,
  etag: true,
  ifMatch: true,
  problems: ['invalid-policy', 'invalid-timezone'],
  async handle({ caller, body, ifMatch, services }) {
    const policy = parsePolicyOverrides(body.policy ?? {}) as Prisma.InputJsonObject;
    const { accountId: id, accountName } = caller;
    const row = await services.db.$transaction(async (tx) => {
      await lockAccountByName(tx, accountName);
      const known = await tx.account.findUniqueOrThrow({ where: { id } });
      checkIfMatch(ifMatch, known.policyVersion);
      if (isDeepStrictEqual(policy, known.policy)) return known;
      await audit(tx, byCaller(caller, 'policy.set', id, { policy: describePolicy(policy) }));
      return tx.account.update({ where: { id }, data: { policy, policyVersion: { increment: 1 } } });
    });
    await renewTerms(services, { accountId: id });
    return answer(row, services);
  },
});

function answer(row: Account, { environmentPolicy: environment }: Services) {
  const overrides = row.policy as PolicyOverrides;
  // A number that warms up has a lower limit of new contacts, which its own page shows.
  const effective = resolvePolicy({ environment, account: overrides, instance: {} }, { warmingUp: false });
  return { status: 200, body: { effective, overrides }, headers: ['ETag', formatEtag(row.policyVersion)] };
}

export const accountPolicyOperations = [getAccountPolicy, updateAccountPolicy];
