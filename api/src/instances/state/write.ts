import { newUuid } from '@gwk/core/ids/ids';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { selectFields } from '../../database/model-columns.js';
import { emit } from '../../events/emit.js';
import type { Prisma } from '../../generated/prisma/client.js';
import { forgetFormerAccount } from './former-account.js';
import { decideStates, STATE_FIELDS, type InstanceStateRow, type StateUpdate } from './decide.js';

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
  const [locked] = await tx.$queryRaw<(InstanceStateRow & { now: Date; accountId: string })[]>`
    SELECT clock_timestamp() AS now, account_id AS "accountId", state, ${selectFields(STATE_FIELDS, 'i')}
    FROM instances i WHERE id = ${instanceId}::uuid AND deleted_at IS NULL FOR NO KEY UPDATE`;
  if (!locked) return;
  const { now, accountId, ...before } = locked;
  const subject = { accountId, instanceId };
  const { row, intervals, events, visible, isOther } = decideStates(subject, before, news, now);
  await tx.instance.update({
    where: { id: instanceId },
    data: { ...row, ...(visible && { version: { increment: 1 } }) },
  });
  if (isOther) await forgetFormerAccount(tx, instanceId);
  for (const { state, reason, since } of intervals) {
    await tx.instanceState.updateMany({ where: { instanceId, endedAt: null }, data: { endedAt: since } });
    await tx.instanceState.create({ data: { id: newUuid(), instanceId, state, reason, since } });
  }
  await emit(tx, sealer, events);
}
