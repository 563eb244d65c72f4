import { setTimeout as sleep } from 'node:timers/promises';
import { pendingNow, type MigratedDatabase } from './migrate.js';

export interface Patience {
  patienceMs: number;
  everyMs?: number;
}

const EVERY_MS = 1_000;
/** Postgres is not there, starts, or ends; its name is not known yet. */
const AWAY = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  '57P01',
  '57P02',
  '57P03',
]);

const isAway = (error: unknown): boolean => AWAY.has((error as { code?: string }).code ?? '');

/** Does it again for as long as Postgres is away; whatever else is wrong is thrown at once. */
export async function patiently<T>(
  { patienceMs, everyMs = EVERY_MS }: Patience,
  work: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isAway(error) || performance.now() >= deadline) throw error;
    }
    await sleep(everyMs);
  }
}

/**
 * Until the database has every migration of this version. It may have more: a newer version is being rolled out, whose
 * migrations this one can live with.
 * @returns how long it took (ms)
 * @throws Error that names what is missing, once patience is over; at once where a migration failed
 */
export async function untilMigrated(
  database: MigratedDatabase,
  { patienceMs, everyMs = EVERY_MS }: Patience,
  folder?: string,
): Promise<number> {
  const began = performance.now();
  for (;;) {
    const left = patienceMs - (performance.now() - began);
    const pending = await patiently({ patienceMs: left, everyMs }, () => pendingNow(database, folder));
    if (pending.length === 0) return Math.round(performance.now() - began);
    if (left <= 0) {
      throw new Error(
        `the database has not got ${pending.join(', ')} (is gwk migrate running, and did it fail?)`,
      );
    }
    await sleep(everyMs);
  }
}
