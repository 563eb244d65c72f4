import { newUuid } from '@gwk/core/ids';
import type { Sealer } from '@gwk/core/encryption';
import type { InstanceState } from '@gwk/core/states';
import { audit, byKey, CLUSTER, type AuditedChange } from '../accounts/audit-log.js';
import type { Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import { failMessages } from '../messages/apply-status.js';

/**
 * Marks an instance deleted: from here on it is 404, its name is free, its session keys are gone. What waited in its
 * queue fails as `canceled`, with its events; what may have left already is in doubt and ends as doubt does. All of
 * it may be repeated, and a repeat takes up what a crash left. The row stays, and with it what names it: a
 * destination or a key restricted to the instance must not become one for all.
 */
export interface RemovedInstance {
  id: string;
  accountId: string;
  resourceNamespace: string;
  resourceName: string;
  /** When the lease of an engine that still runs ends. */
  leaseExpiresAt: Date | null;
  /** A device was linked when this call, and none before, marked the instance deleted. */
  wasLinked: boolean;
}

const CANCEL_AT_ONCE = 500;
/** A blocked number may be blocked for a while only: its device is linked all the same. */
const LINKED = ['connecting', 'connected', 'disconnected', 'banned'] as const satisfies InstanceState[];

/**
 * Null where there is no such row.
 * @param given `by`: whose request it is, where it is one; `budgetMs`: how long a long queue may hold the caller up,
 * the rest is the operator's call to finish
 */
export async function deleteInstanceRow(
  db: Database,
  sealer: Sealer,
  which: { id: string } | { uid: string },
  given: { by?: Caller; budgetMs?: number } = {},
): Promise<RemovedInstance | null> {
  const where = 'id' in which ? { id: which.id } : { resourceUid: which.uid };
  const row = await db.instance.findFirst({
    where,
    select: { id: true, accountId: true, resourceNamespace: true, resourceName: true },
  });
  if (!row) return null;
  const wasLinked = await markDeleted(db, row.id, deletionOf(row, given.by));
  await cancelWaiting(db, sealer, row.id, performance.now() + (given.budgetMs ?? Infinity));
  const lease = await db.instanceLease.findUnique({ where: { instanceId: row.id } });
  return { ...row, wasLinked, leaseExpiresAt: lease?.holder ? futureOnly(lease.expiresAt) : null };
}

const futureOnly = (time: Date | null): Date | null => (time && time > new Date() ? time : null);

type Row = Pick<RemovedInstance, 'id' | 'accountId' | 'resourceNamespace' | 'resourceName'>;

function deletionOf(row: Row, by: Caller | undefined): AuditedChange {
  const { id, accountId, resourceNamespace: namespace, resourceName: resource } = row;
  const action = 'instance.delete';
  if (by) return byKey(by, action, id);
  return { actor: CLUSTER, accountId, action, subject: id, detail: { namespace, resource } };
}

/** An engine that still runs unlinks the device, and says so (`unlink_id`). */
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
    // Of those who mark it at once, one does.
    if (marked.count > 0) await audit(tx, deletion);
    return linked.count > 0;
  });
}

/** Each entry is tried once: whatever cannot be failed must not keep this going for ever. */
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
