import type { EngineRequest } from '@gwk/core/protocol/engine';
import type { EngineCaller, InternalDeps } from './deps.js';
import { fence } from './fence.js';

/** While it lasts, messages to new contacts are refused, and the number's health shows it. */
export async function recordRestriction(
  { database }: InternalDeps,
  { instanceId }: EngineCaller,
  { epoch, holder, until }: EngineRequest<'restricted'>,
): Promise<void> {
  await database.$transaction(async (tx) => {
    await fence(tx, instanceId, { epoch, holder });
    const restrictedUntil = until === null ? null : new Date(until);
    await tx.instance.update({ where: { id: instanceId }, data: { restrictedUntil } });
  });
}
