import type { EngineRequest } from '@gwk/core/protocol/engine';
import { changeContact, linkNames } from '../contacts/contacts.js';
import { storeUsernames } from '../contacts/usernames.js';
import type { EngineCaller, InternalDeps } from './dependencies.js';
import { fence, inOrder } from './fence.js';
import { RefusalError } from './refusal.js';

/**
 * Links the names that the network gave an engine. If the contact is opted out, its queued messages fail now. A late repeat
 * of an earlier call is ignored.
 */
export async function recordNames(
  { database, sealer }: InternalDeps,
  { instanceId }: EngineCaller,
  { lid, phone, ...call }: EngineRequest<'names'>,
): Promise<void> {
  const accountId = await findAccount(database, instanceId);
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
  { people, ...call }: EngineRequest<'usernames'>,
): Promise<void> {
  const accountId = await findAccount(database, instanceId);
  await changeContact(database, async (tx) => {
    await fence(tx, instanceId, call);
    if (!(await inOrder(tx, instanceId, 'usernames', call))) return;
    await storeUsernames(tx, sealer, { accountId, instanceId }, people);
  });
}

/** @throws RefusalError */
async function findAccount(database: InternalDeps['database'], instanceId: string): Promise<string> {
  const where = { id: instanceId };
  const instance = await database.instance.findUnique({ where, select: { accountId: true } });
  if (!instance) throw new RefusalError('gone');
  return instance.accountId;
}
