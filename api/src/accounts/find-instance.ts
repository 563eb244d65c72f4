import { fromPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { listRestriction, maySee, type Caller } from './caller.js';
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
 * Finds the conversation that a list shows; null: the filter is absent.
 * @param given the filter `conversation`
 * @throws Problem `not-found`
 */
export async function filterConversation(
  db: Pick<Prisma.TransactionClient, 'conversation'>,
  caller: Caller,
  given: string | undefined,
): Promise<string | null> {
  if (given === undefined) return null;
  const id = fromPublicId('conversation', given);
  if (id === null) throw new Problem('not-found');
  await checkConversation(db, caller, id);
  return id;
}

/** @throws Problem `not-found` for a conversation that the caller may not see */
export async function checkConversation(
  db: Pick<Prisma.TransactionClient, 'conversation'>,
  caller: Caller,
  id: string,
): Promise<void> {
  const row = await db.conversation.findUnique({ where: { id }, include: { instance: true } });
  if (!row || row.instance.accountId !== caller.accountId || !maySee(caller, row.instanceId))
    throw new Problem('not-found');
}

/**
 * Finds the instances that a list shows; null: all of the account. A deleted instance still has messages and events.
 * @param given the filter `instance_id`
 * @throws Problem `not-found`
 */
export async function filterInstances(
  db: Pick<Prisma.TransactionClient, 'instance'>,
  caller: Caller,
  given: string | undefined,
): Promise<string[] | null> {
  if (given === undefined) return listRestriction(caller);
  const id = fromPublicId('instance', given);
  const { accountId } = caller;
  if (id !== null && maySee(caller, id) && (await db.instance.count({ where: { id, accountId } })) > 0)
    return [id];
  throw new Problem('not-found');
}
