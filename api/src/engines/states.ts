import type { EngineRequest } from '@gwk/core/protocol/engine';
import type { Prisma } from '../generated/prisma/client.js';
import { writeStates } from '../instances/state/write.js';
import { closeSession } from '../instances/pairing/sessions.js';
import type { InternalDeps } from './dependencies.js';
import { fence, inOrder, type EngineCaller } from '../fencing/fence.js';

/**
 * Records state changes. A delayed call that arrives after its repeat and after later calls is ignored by its number; otherwise
 * it would overwrite the current state with an old one.
 */
export async function recordStates(
  { database, sealer }: InternalDeps,
  { instanceId }: EngineCaller,
  request: EngineRequest<'state'>,
): Promise<void> {
  await database.$transaction(async (tx) => {
    await fence(tx, instanceId, request);
    if (!(await inOrder(tx, instanceId, 'state', request))) return;
    if (await isToUnlink(tx, instanceId)) return;
    const updates = request.changes.map((change) => ({ ...change, at: new Date(change.at) }));
    await writeStates(tx, sealer, instanceId, updates);
    if (request.changes.some(({ paired }) => paired)) await closeSession(tx, instanceId, null);
  });
}

/** Whether the API has logged the instance out and its engine does not know yet: its reports about the link are outdated. */
async function isToUnlink(tx: Prisma.TransactionClient, instanceId: string): Promise<boolean> {
  const rows = await tx.$queryRaw<{ unlink_id: string | null }[]>`
    SELECT unlink_id FROM instances WHERE id = ${instanceId}::uuid FOR NO KEY UPDATE`;
  return rows.some(({ unlink_id }) => unlink_id !== null);
}

/** Records a restriction: until its end, messages to new contacts are refused and the instance's health shows it. */
export async function recordRestriction(
  { database }: InternalDeps,
  { instanceId }: EngineCaller,
  request: EngineRequest<'restricted'>,
): Promise<void> {
  await database.$transaction(async (tx) => {
    await fence(tx, instanceId, request);
    if (!(await inOrder(tx, instanceId, 'restricted', request))) return;
    const restrictedUntil = request.until === null ? null : new Date(request.until);
    await tx.instance.update({ where: { id: instanceId }, data: { restrictedUntil } });
  });
}
