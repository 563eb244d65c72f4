import type { EngineRequest } from '@gwk/core/protocol/engine';
import { changeContact, linkNames } from '../contacts/contacts.js';
import { storeUsernames } from '../contacts/usernames.js';
import type { Database } from '../database/database.js';
import type { InternalDeps } from './dependencies.js';
import { fence, inOrder, type EngineCaller } from '../fencing/fence.js';
import { RefusalError } from '../fencing/refusal.js';

/**
 * Links the names that the network gave an engine. If the contact is opted out, its queued messages fail now. A late repeat
 * of an earlier call is ignored.
 */
export async function recordNames(
  { database, sealer }: InternalDeps,
  { instanceId }: EngineCaller,
  { lid, phone, ...call }: EngineRequest<'names'>,
): Promise<void> {
  const accountId = await findAccountId(database, instanceId);
  const seen = { accountId, instanceId, lid, phone };
  const isLinked = await linkNames({ database, sealer }, seen, async (tx) => {
    await fence(tx, instanceId, call);
    return inOrder(tx, instanceId, 'names', call);
  });
  if (!isLinked) throw new RefusalError('unavailable');
}

/** Stores the usernames that the network gave an engine without a message. */
export async function recordUsernames(
  { database, sealer }: InternalDeps,
  { instanceId }: EngineCaller,
  { people, ...lease }: EngineRequest<'usernames'>,
): Promise<void> {
  const accountId = await findAccountId(database, instanceId);
  await changeContact(database, async (tx) => {
    await fence(tx, instanceId, lease);
    const seen = people.map((one) => ({ ...one, at: one.at === undefined ? null : new Date(one.at) }));
    await storeUsernames(tx, sealer, { accountId, instanceId }, seen);
  });
}

/** @throws RefusalError */
export async function findAccountId(
  database: Pick<Database, 'instance'>,
  instanceId: string,
): Promise<string> {
  const where = { id: instanceId };
  const instance = await database.instance.findUnique({ where, select: { accountId: true } });
  if (!instance) throw new RefusalError('gone');
  return instance.accountId;
}
