import type { EngineRequest, StateChange } from '@gwk/core/protocol/engine';
import type { Prisma } from '../generated/prisma/client.js';
import type { StateNews } from '../instances/state/decide.js';
import { writeStates } from '../instances/state/write.js';
import { closeSession } from '../instances/pairing/sessions.js';
import type { EngineCaller, InternalDeps } from './dependencies.js';
import { fence, inOrder } from './fence.js';

/**
 * A telling that comes through after its repeat, and after what followed it, would be the last word on a state long past:
 * it is left out by its number.
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
    await writeStates(tx, sealer, instanceId, request.changes.map(newsOf));
    if (request.changes.some(({ paired }) => paired)) await closeSession(tx, instanceId, null);
  });
}

/** The API has logged the number out, and its engine is yet to hear of it: what it says of the link is past. */
async function isToUnlink(tx: Prisma.TransactionClient, instanceId: string): Promise<boolean> {
  const rows = await tx.$queryRaw<{ unlink_id: string | null }[]>`
    SELECT unlink_id FROM instances WHERE id = ${instanceId}::uuid FOR NO KEY UPDATE`;
  return rows.some(({ unlink_id }) => unlink_id !== null);
}

function newsOf(change: StateChange): StateNews {
  const { ban, reconnect } = change;
  return {
    state: change.state,
    at: new Date(change.at),
    reason: change.reason,
    paired: change.paired,
    jid: change.jid,
    businessName: change.business_name,
    ban: ban && { code: ban.code, expiresAt: dateOf(ban.expires_at) },
    reconnect: reconnect && { count: reconnect.count, at: dateOf(reconnect.at) },
  };
}

const dateOf = (time: string | null): Date | null => (time === null ? null : new Date(time));
