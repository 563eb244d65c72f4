import type { InstanceFacts } from '@gwk/core/protocol/operator';
import type { InstanceState } from '@gwk/core/states';
import type { Database } from '../database/database.js';
import type { InstanceLease } from '../generated/prisma/client.js';

/** Reads the facts of instances for the operator's decisions. Deleted instances are missing. */
export async function readFacts(database: Database, ids: readonly string[]): Promise<InstanceFacts[]> {
  const rows = await database.instance.findMany({
    where: { id: { in: [...ids] }, deletedAt: null },
    include: { lease: true, pairing: { select: { state: true } } },
  });
  return rows.map((row) => ({
    id: row.id,
    state: row.state as InstanceState,
    state_reason: row.stateReason,
    state_changed_at: row.stateChangedAt.toISOString(),
    jid: row.jid,
    first_paired_at: iso(row.firstPairedAt),
    banned_until: iso(row.bannedUntil),
    pairing: row.pairing?.state === 'pairing' || row.unlinkId !== null,
    lease: leaseOf(row.lease),
  }));
}

/** A released lease has neither pod nor end. */
function leaseOf(lease: InstanceLease | null): InstanceFacts['lease'] {
  if (!lease) return { pod: null, epoch: 0, expires_at: null };
  const { pod, epoch, holder, expiresAt } = lease;
  return holder === null
    ? { pod: null, epoch, expires_at: null }
    : { pod, epoch, expires_at: iso(expiresAt) };
}

const iso = (time: Date | null): string | null => time?.toISOString() ?? null;
