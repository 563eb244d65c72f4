import { Problem } from '@gwk/core/problems';
import { maySee, type Caller } from '../accounts/caller.js';
import type { Instance, Prisma } from '../generated/prisma/client.js';

/**
 * Finds an instance that the caller may access.
 * @throws Problem `not-found`, also for a foreign, hidden or deleted instance
 */
export async function findInstance(
  db: Pick<Prisma.TransactionClient, 'instance'>,
  caller: Caller,
  id: string,
): Promise<Instance> {
  const row = await db.instance.findFirst({ where: { id, accountId: caller.accountId, deletedAt: null } });
  if (!row || !maySee(caller, row.id)) throw new Problem('not-found');
  return row;
}

/**
 * Finds the instance of a list filter. A deleted instance still has messages and events.
 * @throws Problem `not-found`
 */
export async function findFilterInstance(
  db: Pick<Prisma.TransactionClient, 'instance'>,
  caller: Caller,
  id: string | null,
): Promise<string> {
  if (id === null) throw new Problem('not-found');
  const row = await db.instance.findFirst({
    where: { id, accountId: caller.accountId },
    select: { id: true },
  });
  if (!row || !maySee(caller, row.id)) throw new Problem('not-found');
  return row.id;
}
