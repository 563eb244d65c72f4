import type { EngineRequest } from '@gwk/core/protocol/engine';
import type { EngineCaller, InternalDeps } from './dependencies.js';
import { fence, inOrder } from './fence.js';

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
