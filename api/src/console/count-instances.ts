import { INSTANCE_STATES, type InstanceState } from '@gwk/core/states';
import { listRestriction, type Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';

export const visibleInstances = (caller: Caller) => {
  const ids = listRestriction(caller);
  return { accountId: caller.accountId, deletedAt: null, ...(ids && { id: { in: ids } }) };
};

/** Counts the instances that the caller may see. */
export async function countInstances(db: Database, caller: Caller): Promise<Record<InstanceState, number>> {
  const rows = await db.instance.groupBy({
    by: ['state'],
    where: visibleInstances(caller),
    _count: true,
  });
  const counts = new Map(rows.map(({ state, _count }) => [state, _count]));
  return Object.fromEntries(INSTANCE_STATES.map((state) => [state, counts.get(state) ?? 0])) as Record<
    InstanceState,
    number
  >;
}
