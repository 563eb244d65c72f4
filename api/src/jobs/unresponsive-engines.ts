import type { InstanceState } from '@gwk/core/states';
import type { Prisma } from '../generated/prisma/client.js';
import type { Database } from '../database/database.js';
import { toFields } from '../database/model-columns.js';
import {
  decideClosing,
  type Liveness,
  type LivenessSource,
} from '../instances/availability/liveness-source.js';
import { writeStates } from '../instances/state/write.js';
import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

/** A lease without a recent renewal, or an ended one, whose instance is stored as connected or connecting. */
export interface EndedLease {
  instanceId: string;
  epoch: number;
  holder: string | null;
  state: InstanceState;
  renewedAt: Date;
  expiresAt: Date;
  now: Date;
}

/** Time for another engine to take over after one has ended. */
const TAKE_OVER_MS = 45_000;

/**
 * Returns since when an engine is unresponsive; null: it is not, or this worker cannot know.
 *
 * An engine without renewals is unresponsive since its last renewal, if this worker has observed for a whole lease: after a
 * restart of Postgres or of this worker engines get time to renew. An engine whose lease was released because its process
 * ended is unresponsive if no other engine has taken over.
 */
export function unresponsiveSince(lease: EndedLease, healthyForMs: number): Date | null {
  const { state, holder, renewedAt, expiresAt, now } = lease;
  if (state !== 'connected' && state !== 'connecting') return null;
  const endedForMs = now.getTime() - expiresAt.getTime();
  if (endedForMs <= 0) return null;
  if (holder === null) return endedForMs > TAKE_OVER_MS && healthyForMs > TAKE_OVER_MS ? expiresAt : null;
  const leaseMs = expiresAt.getTime() - renewedAt.getTime();
  return healthyForMs > leaseMs ? renewedAt : null;
}

const MAX_GAP_MS = 5_000;

/**
 * Measures for how long this worker has observed without interruption: an absence counts only while the observer was
 * healthy. A failed observation, or one more than 5 s after the previous one (a stalled process), restarts the measurement.
 */
export class Observer {
  #healthySince: number | null = null;
  #last = 0;

  /** @param now monotonic clock in milliseconds */
  constructor(private readonly now = (): number => performance.now()) {}

  healthyForMs(): number {
    return this.#healthySince === null ? 0 : this.#last - this.#healthySince;
  }

  async observe<T>(look: () => Promise<T>): Promise<T> {
    const [start, healthySince] = [this.now(), this.#healthySince];
    this.#healthySince = null;
    const seen = await look();
    const end = this.now();
    const interrupted = start - this.#last > MAX_GAP_MS || end - start > MAX_GAP_MS;
    this.#healthySince = interrupted ? end : (healthySince ?? end);
    this.#last = end;
    return seen;
  }
}

/** Reads the liveness of suspects, of which some are due; empty if the source does not answer. */
export type LivenessReader = (
  suspects: readonly EndedLease[],
  due: readonly EndedLease[],
) => Promise<ReadonlyMap<string, Liveness>>;

export function createLivenessReader(
  source: LivenessSource,
  log: JobDependencies['log'],
  onRead?: (source: LivenessSource['name'], ok: boolean) => void,
): LivenessReader {
  let unavailable = false;
  return async (suspects, due) => {
    // Heartbeats expire before leases, so they are read early; Prometheus keeps its samples.
    const wanted = source.name === 'prometheus' ? due : suspects;
    try {
      const seen = await source.read(wanted);
      if (wanted.length === 0) return seen;
      if (unavailable) log.info({ source: source.name }, 'liveness source available again');
      unavailable = false;
      onRead?.(source.name, true);
      return seen;
    } catch (error) {
      if (!unavailable)
        log.warn({ err: error, source: source.name }, 'liveness source unavailable; only leases decide');
      unavailable = true;
      onRead?.(source.name, false);
      return new Map();
    }
  };
}

/** @param readLiveness refines the time and reason; only the leases decide */
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
      const due = suspects.filter((lease) => unresponsiveSince(lease, healthyForMs) !== null);
      const liveness = await readLiveness(suspects, due);
      for (const lease of due) {
        const since = unresponsiveSince(lease, healthyForMs)!;
        const closing = decideClosing(lease, since, liveness.get(lease.instanceId));
        const written = await db.$transaction(async (tx) => {
          if (!(await lockLease(tx, lease))) return false;
          await writeStates(tx, sealer, lease.instanceId, [{ state: 'disconnected', ...closing }]);
          return true;
        });
        if (!written) continue;
        amount += 1;
        const { instanceId: instance, epoch } = lease;
        log.warn({ instance, epoch, reason: closing.reason, since: closing.at }, 'engine unresponsive');
      }
      return { amount, more: false };
    },
  };
}

/** Reads leases that have ended, and those that end within 30 s after a third of a lease without a renewal. */
async function unrenewedLeases(db: Database): Promise<EndedLease[]> {
  return toFields<EndedLease>(
    await db.$queryRaw`
    SELECT l.instance_id, l.epoch, l.holder, i.state, l.renewed_at, l.expires_at, clock_timestamp() AS now
    FROM instance_leases l JOIN instances i ON i.id = l.instance_id
    WHERE l.expires_at < now() + interval '30 seconds'
      AND l.renewed_at < now() - (l.expires_at - l.renewed_at) / 3 AND i.deleted_at IS NULL
      AND i.state IN ('connected', 'connecting')`,
  );
}

/**
 * Locks the lease for the rest of the transaction if it is unchanged, so that no engine renews it, takes it or writes under
 * it meanwhile.
 */
async function lockLease(tx: Prisma.TransactionClient, lease: EndedLease): Promise<boolean> {
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
