import type { InstanceState } from '@gwk/core/states';
import type { Database } from '../database/database.js';
import { closingOf, type Liveness, type LivenessSource } from '../instances/availability/liveness-source.js';
import { writeStates } from '../instances/state/write.js';
import type { Observer } from './observer.js';
import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

/** A lease that was not renewed lately, or has ended, while its instance is shown as connected or connecting. */
export interface EndedLease {
  instanceId: string;
  epoch: number;
  holder: string | null;
  state: InstanceState;
  renewedAt: Date;
  expiresAt: Date;
  now: Date;
}

/** How long an instance may stand without an engine after one has ended: another takes over, or says why not. */
const TAKE_OVER_MS = 45_000;

/**
 * Since when an engine is to be called silent; null: it is not, or nobody can tell (design: State and availability).
 *
 * An engine that did not renew is silent since its last renewal, if this observer was there for a whole lease and
 * would have seen one: after a restart of Postgres, or of this worker, engines are given the time to renew. One whose
 * lease was given back by others (its process ended without a word) is silent once no other engine has come.
 */
export function silentSince(lease: EndedLease, healthyForMs: number): Date | null {
  const { state, holder, renewedAt, expiresAt, now } = lease;
  if (state !== 'connected' && state !== 'connecting') return null;
  const endedForMs = now.getTime() - expiresAt.getTime();
  if (endedForMs <= 0) return null;
  if (holder === null) return endedForMs > TAKE_OVER_MS && healthyForMs > TAKE_OVER_MS ? expiresAt : null;
  const leaseMs = expiresAt.getTime() - renewedAt.getTime();
  return healthyForMs > leaseMs ? renewedAt : null;
}

interface Row {
  instance_id: string;
  epoch: number;
  holder: string | null;
  state: InstanceState;
  renewed_at: Date;
  expires_at: Date;
  now: Date;
}

/** Reads signs of suspects, some of which are due to be judged; none where the source does not answer. */
export type LivenessReader = (
  suspects: readonly EndedLease[],
  due: readonly EndedLease[],
) => Promise<ReadonlyMap<string, Liveness>>;

export interface LivenessReaderOptions {
  log: JobDependencies['log'];
  onRead?: (source: LivenessSource['name'], ok: boolean) => void;
}

export function createLivenessReader(source: LivenessSource, { log, onRead }: LivenessReaderOptions): LivenessReader {
  let away = false;
  return async (suspects, due) => {
    // A heartbeat ends before its lease does; what Prometheus has seen it knows later too.
    const wanted = source.name === 'prometheus' ? due : suspects;
    try {
      const seen = await source.read(wanted);
      if (wanted.length === 0) return seen;
      if (away) log.info({ source: source.name }, 'source of life are read again');
      away = false;
      onRead?.(source.name, true);
      return seen;
    } catch (error) {
      if (!away)
        log.warn({ err: error, source: source.name }, 'no source of life to read: leases alone decide');
      away = true;
      onRead?.(source.name, false);
      return new Map();
    }
  };
}

/** @param readLiveness what others have seen of engines (availability/signs.ts); the leases decide */
export function unresponsiveEnginesJob(
  { db, sealer, log }: JobDependencies,
  observer: Pick<Observer, 'observe' | 'healthyForMs'>,
  readLiveness: LivenessReader,
): Job {
  return {
    name: 'unresponsive-engines',
    everyMs: 1_000,
    async pass() {
      let amount = 0;
      const suspects = await observer.observe(() => unrenewedLeases(db));
      const healthyForMs = observer.healthyForMs();
      const due = suspects.filter((lease) => silentSince(lease, healthyForMs) !== null);
      const signs = await readLiveness(suspects, due);
      for (const lease of due) {
        const since = silentSince(lease, healthyForMs)!;
        const closing = closingOf(lease, since, signs.get(lease.instanceId));
        const written = await db.$transaction(async (tx) => {
          if (!(await holdStill(tx, lease))) return false;
          await writeStates(tx, sealer, lease.instanceId, [{ state: 'disconnected', ...closing }]);
          return true;
        });
        if (!written) continue;
        amount += 1;
        const { instanceId: instance, epoch } = lease;
        log.warn({ instance, epoch, reason: closing.reason, since: closing.at }, 'engine is silent');
      }
      return { amount, more: false };
    },
  };
}

/** Those whose lease has ended, and those that have lived for a third of theirs without renewing and will end soon. */
async function unrenewedLeases(db: Database): Promise<EndedLease[]> {
  const rows = await db.$queryRaw<Row[]>`
    SELECT l.instance_id, l.epoch, l.holder, i.state, l.renewed_at, l.expires_at, clock_timestamp() AS now
    FROM instance_leases l JOIN instances i ON i.id = l.instance_id
    WHERE l.expires_at < now() + interval '30 seconds'
      AND l.renewed_at < now() - (l.expires_at - l.renewed_at) / 3 AND i.deleted_at IS NULL
      AND i.state IN ('connected', 'connecting')`;
  return rows.map((row) => ({
    instanceId: row.instance_id,
    epoch: row.epoch,
    holder: row.holder,
    state: row.state,
    renewedAt: row.renewed_at,
    expiresAt: row.expires_at,
    now: row.now,
  }));
}

type Transaction = Parameters<Parameters<Database['$transaction']>[0]>[0];

/**
 * The epoch rule for an observer: the lease is still the one that was seen ending, and until the end of this
 * transaction nobody renews it, takes it or writes under it.
 */
async function holdStill(tx: Transaction, lease: EndedLease): Promise<boolean> {
  const locked = await tx.$queryRaw<unknown[]>`
    SELECT 1 AS one FROM instance_leases
    WHERE instance_id = ${lease.instanceId}::uuid AND epoch = ${lease.epoch}::integer
      AND holder IS NOT DISTINCT FROM ${lease.holder}::uuid
      AND expires_at = ${lease.expiresAt.toISOString()}::timestamptz
    FOR NO KEY UPDATE SKIP LOCKED`;
  if (locked.length === 0) return false;
  const unchanged = await tx.$queryRaw<unknown[]>`
    SELECT 1 AS one FROM instances
    WHERE id = ${lease.instanceId}::uuid AND state = ${lease.state} AND deleted_at IS NULL FOR NO KEY UPDATE`;
  return unchanged.length > 0;
}
