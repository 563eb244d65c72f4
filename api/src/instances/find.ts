import { Problem } from '@gwk/core/problems';
import { maySee, type Caller } from '../accounts/caller.js';
import type { Instance, Prisma } from '../generated/prisma/client.js';

/**
 * The instance, as far as the caller may see it.
 * @throws Problem `not-found`: the same for what is foreign, hidden, deleted or never was
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
 * The instance that a list is filtered by; one that was deleted still has its messages and events.
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
