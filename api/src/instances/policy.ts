import { isWarmingUp, PolicyOut, resolvePolicy, type PolicyOverrides } from '../policy/policy.js';
import type { Instance } from '../generated/prisma/client.js';
import { operation } from '../http/operation.js';
import type { Services } from '../http/services.js';
import { findInstance } from '../accounts/find-instance.js';

/** Start of the warm-up; null: not started. A sandbox starts at its creation. */
export function warmUpFrom(row: Pick<Instance, 'kind' | 'createdAt' | 'firstPairedAt'>): Date | null {
  return row.kind === 'sandbox' ? row.createdAt : row.firstPairedAt;
}

/** Reads the policy in force for an instance. */
export async function readPolicy(services: Services, row: Instance, now: Date): Promise<PolicyOut> {
  const account = await services.db.account.findUniqueOrThrow({ where: { id: row.accountId } });
  const levels = {
    environment: services.environmentPolicy,
    account: account.policy as PolicyOverrides,
    instance: row.policy as PolicyOverrides,
  };
  return resolvePolicy(levels, { warmingUp: isWarmingUp(warmUpFrom(row), now) });
}

export const policyOperations = [
  operation({
    name: 'getPolicy',
    method: 'GET',
    path: '/v1/instances/{instance_id}/policy',
    summary: 'The policy in force, and which level each value comes from',
    scope: 'instances:read',
    status: 200,
    result: PolicyOut,
    async handle({ caller, params, services }) {
      const row = await findInstance(services.db, caller, params['instance_id']!);
      return { status: 200, body: await readPolicy(services, row, new Date()) };
    },
  }),
];
