import { newUuid } from '@gwk/core/ids/ids';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { InstanceState } from '@gwk/core/states';
import { audit, byCaller, CLUSTER, type AuditedChange } from '../accounts/audit-log.js';
import type { Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import { failMessages } from '../message-status/apply-status.js';
import { isHeld } from '../engine-commands/ask-engine.js';

const CANCEL_AT_ONCE = 500;
/** States with a linked device; a ban may be temporary. */
const LINKED = ['connecting', 'connected', 'disconnected', 'banned'] as const satisfies InstanceState[];

/**
 * Marks an instance deleted: it is 404, its name is free and its session keys are deleted. Queued messages fail with `canceled`
 * and their events; unconfirmed sends end by their timeout. The deletion can be repeated after a crash. The row stays with its
 * references, because an endpoint or key that is restricted to the instance must not become unrestricted.
 * @param given `by`: caller of the request, if there is one; `budgetMs`: time for canceling a long queue; a call of the operator
 * cancels the rest
 * @returns null if the row does not exist; `wasLinked`: this call marked the instance deleted and a device was linked;
 * `leaseExpiresAt`: end of the lease of a running engine; `lastEpoch`: 0 if no engine ever ran
 */
export async function deleteInstanceRow(
  db: Database,
  sealer: Sealer,
  where: { id: string } | { resourceUid: string },
  { by, budgetMs = Infinity }: { by?: Caller; budgetMs?: number } = {},
) {
  const row = await db.instance.findFirst({ where });
  if (!row) return null;
  const { id, accountId, resourceNamespace: namespace, resourceName: name } = row;
  const action = 'instance.delete';
  const deletion = by
    ? byCaller(by, action, id)
    : { actor: CLUSTER, accountId, action, subject: id, detail: { namespace, resource: name } };
  const wasLinked = await markDeleted(db, id, deletion);
  await cancelWaiting(db, sealer, id, performance.now() + budgetMs);
  const lease = await db.instanceLease.findUnique({ where: { instanceId: id } });
  return {
    id,
    place: { namespace, name },
    wasLinked,
    leaseExpiresAt: isHeld(lease) ? lease.expiresAt : null,
    lastEpoch: lease?.epoch ?? 0,
  };
}

/** Marks the row; a running engine unlinks the device and reports it (`unlink_id`). */
async function markDeleted(db: Database, id: string, deletion: AuditedChange): Promise<boolean> {
  return db.$transaction(async (tx) => {
    const now = new Date();
    const live = { id, deletedAt: null };
    const linked = await tx.instance.updateMany({
      where: { ...live, OR: [{ state: { in: [...LINKED] } }, { unlinkId: { not: null } }] },
      data: { unlinkId: newUuid() },
    });
    const marked = await tx.instance.updateMany({
      where: live,
      data: { deletedAt: now, version: { increment: 1 } },
    });
    await tx.instanceState.updateMany({ where: { instanceId: id, endedAt: null }, data: { endedAt: now } });
    await tx.sessionKey.deleteMany({ where: { instanceId: id } });
    await tx.pairingSession.deleteMany({ where: { instanceId: id } });
    await tx.optOut.deleteMany({ where: { sandboxId: id } });
    // Only one of concurrent calls marks it.
    if (marked.count > 0) await audit(tx, deletion);
    return linked.count > 0;
  });
}

/** Tries each entry once, so that entries that cannot be failed do not cause an endless loop. */
async function cancelWaiting(
  db: Database,
  sealer: Sealer,
  instanceId: string,
  deadline: number,
): Promise<void> {
  let after: string | undefined;
  do {
    const entries = await db.outboxEntry.findMany({
      where: { instanceId, attemptedAt: null, ...(after !== undefined && { messageId: { gt: after } }) },
      select: { messageId: true },
      orderBy: { messageId: 'asc' },
      take: CANCEL_AT_ONCE,
    });
    const ids = entries.map(({ messageId }) => messageId);
    if (ids.length > 0) {
      await failMessages({ database: db, sealer }, ids, { code: 'canceled', message: null });
    }
    after = ids.at(-1);
  } while (after !== undefined && performance.now() < deadline);
}
