import type { InstanceFacts } from '@gwk/core/protocol/operator';
import type { InstanceState } from '@gwk/core/states';
import type { Database } from '../database/database.js';

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
    first_paired_at: iso(row.firstPairedAt),
    banned_until: iso(row.bannedUntil),
    pairing: row.pairing?.state === 'pairing' || row.unlinkId !== null,
    // A released lease has neither pod nor end.
    lease: {
      pod: row.lease?.holder ? row.lease.pod : null,
      epoch: row.lease?.epoch ?? 0,
      expires_at: row.lease?.holder ? iso(row.lease.expiresAt) : null,
    },
  }));
}

const iso = (time: Date | null): string | null => time?.toISOString() ?? null;
