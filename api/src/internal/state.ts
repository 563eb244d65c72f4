import type { EngineRequest, StateChange } from '@gwk/core/protocol/engine';
import type { Prisma } from '../generated/prisma/client.js';
import type { StateNews } from '../instances/state/decide.js';
import { writeStates } from '../instances/state/write.js';
import { closeSession } from '../pairing/sessions.js';
import type { EngineCaller, InternalDeps } from './deps.js';
import { fence } from './fence.js';

const TRANSACTION = { maxWait: 3_000, timeout: 10_000 };

export async function recordStates(
  { database, sealer }: InternalDeps,
  { instanceId }: EngineCaller,
  request: EngineRequest<'state'>,
): Promise<void> {
  await database.$transaction(async (tx) => {
    await fence(tx, instanceId, request);
    if (await isToUnlink(tx, instanceId)) return;
    const changes = await withoutTold(tx, instanceId, request.changes);
    if (changes.length === 0) return;
    await writeStates(tx, sealer, instanceId, changes.map(newsOf));
    if (changes.some(({ paired }) => paired)) await closeSession(tx, instanceId, null);
  }, TRANSACTION);
}

/** The API has logged the number out, and its engine is yet to hear of it: what it says of the link is past. */
async function isToUnlink(tx: Prisma.TransactionClient, instanceId: string): Promise<boolean> {
  const rows = await tx.$queryRaw<{ unlink_id: string | null }[]>`
    SELECT unlink_id FROM instances WHERE id = ${instanceId}::uuid FOR NO KEY UPDATE`;
  return rows.some(({ unlink_id }) => unlink_id !== null);
}

/**
 * An engine that got no answer in time tells the same again, with what has happened since, and the first telling may come
 * through after the second: written again, it would be the last word on a state long past. What an engine tells, it tells
 * in order; so with a change that is written (its interval says so), those before it are.
 *
 * The caller holds the instance's row: nobody writes intervals meanwhile.
 */
async function withoutTold(
  tx: Prisma.TransactionClient,
  instanceId: string,
  changes: readonly StateChange[],
): Promise<readonly StateChange[]> {
  const told = await tx.instanceState.findMany({
    where: { instanceId, since: { in: changes.map(({ at }) => new Date(at)) } },
    select: { state: true, reason: true, since: true },
  });
  const last = changes.findLastIndex((change) =>
    told.some(
      ({ state, reason, since }) =>
        state === change.state && reason === change.reason && since.getTime() === Date.parse(change.at),
    ),
  );
  return changes.slice(last + 1);
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
