import { newUuid } from '@gwk/core/ids';
import type { Sealer } from '@gwk/core/encryption';
import type { InstanceState } from '@gwk/core/states';
import { emit } from '../../events/emit.js';
import type { Prisma } from '../../generated/prisma/client.js';
import { decideStates, type InstanceStateRow, type StateUpdate } from './decide.js';

interface LockedRow {
  now: Date;
  account_id: string;
  state: InstanceState;
  state_reason: string | null;
  state_changed_at: Date;
  offline_ms: bigint;
  jid: string | null;
  business_name: string | null;
  first_paired_at: Date | null;
  first_connected_at: Date | null;
  banned_until: Date | null;
  reconnect_count: number;
  reconnect_at: Date | null;
}

/**
 * Writes state changes in order, with their intervals and events, in the caller's transaction. The caller has verified the
 * epoch. A deleted instance does not change.
 */
export async function writeStates(
  tx: Prisma.TransactionClient,
  sealer: Sealer,
  instanceId: string,
  news: readonly StateUpdate[],
): Promise<void> {
  const [locked] = await tx.$queryRaw<LockedRow[]>`
    SELECT clock_timestamp() AS now, account_id, state, state_reason, state_changed_at, offline_ms, jid, business_name,
      first_paired_at, first_connected_at, banned_until, reconnect_count, reconnect_at
    FROM instances WHERE id = ${instanceId}::uuid AND deleted_at IS NULL FOR NO KEY UPDATE`;
  if (!locked) return;
  const subject = { accountId: locked.account_id, instanceId };
  const { row, intervals, events, visible } = decideStates(subject, rowOf(locked), news, locked.now);
  await tx.instance.update({
    where: { id: instanceId },
    data: { ...row, ...(visible && { version: { increment: 1 } }) },
  });
  for (const { state, reason, since } of intervals) {
    await tx.instanceState.updateMany({ where: { instanceId, endedAt: null }, data: { endedAt: since } });
    await tx.instanceState.create({ data: { id: newUuid(), instanceId, state, reason, since } });
  }
  await emit(tx, sealer, events);
}

function rowOf(locked: LockedRow): InstanceStateRow {
  return {
    state: locked.state,
    stateReason: locked.state_reason,
    stateChangedAt: locked.state_changed_at,
    offlineMs: locked.offline_ms,
    jid: locked.jid,
    businessName: locked.business_name,
    firstPairedAt: locked.first_paired_at,
    firstConnectedAt: locked.first_connected_at,
    bannedUntil: locked.banned_until,
    reconnectCount: locked.reconnect_count,
    reconnectAt: locked.reconnect_at,
  };
}
