import { setTimeout as sleep } from 'node:timers/promises';
import { listPendingMigrations, type MigratedDatabase, type SqlFolders } from './migrate.js';

interface WaitOptions {
  timeoutMs: number;
  everyMs?: number;
}

const EVERY_MS = 1_000;
/** Postgres is unreachable, starting or stopping, or its name does not resolve yet. */
const UNAVAILABLE = new Set([
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

const isUnavailable = (error: unknown): boolean => UNAVAILABLE.has((error as { code?: string }).code ?? '');

/** Retries the work while Postgres is unavailable, up to the timeout; throws all other errors at once. */
export async function retryWhileUnavailable<T>(
  { timeoutMs, everyMs = EVERY_MS }: WaitOptions,
  work: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error) || performance.now() >= deadline) throw error;
    }
    await sleep(everyMs);
  }
}

/**
 * Waits until the database has every migration and function of this version. It may have newer ones: during an upgrade this
 * version also works with those of the next one.
 * @returns the time it took in milliseconds
 * @throws Error with the missing migrations after the timeout; at once if a migration failed
 */
export async function waitForMigrations(
  database: MigratedDatabase,
  { timeoutMs, everyMs = EVERY_MS }: WaitOptions,
  folders?: SqlFolders,
): Promise<number> {
  const began = performance.now();
  for (;;) {
    const left = timeoutMs - (performance.now() - began);
    const pending = await retryWhileUnavailable({ timeoutMs: left, everyMs }, () =>
      listPendingMigrations(database, folders),
    );
    if (pending.length === 0) return Math.round(performance.now() - began);
    if (left <= 0) {
      throw new Error(`the database lacks ${pending.join(', ')} (is gwk migrate running, or did it fail?)`);
    }
    await sleep(everyMs);
  }
}
