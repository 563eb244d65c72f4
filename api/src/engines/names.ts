import type { EngineRequest } from '@gwk/core/protocol/engine';
import { linkNames } from '../contacts/contacts.js';
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
  const instance = await database.instance.findUnique({
    where: { id: instanceId },
    select: { accountId: true },
  });
  if (!instance) throw new RefusalError('gone');
  const { accountId } = instance;
  const seen = { accountId, instanceId, lid, phone };
  const isLinked = await linkNames({ database, sealer }, seen, async (tx) => {
    await fence(tx, instanceId, call);
    return inOrder(tx, instanceId, 'names', call);
  });
  if (!isLinked) throw new RefusalError('unavailable');
}
