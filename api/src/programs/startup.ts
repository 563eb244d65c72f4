import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '@gwk/core/config/load';
import type { Logger } from '@gwk/core/log';
import { parsePolicyOverrides, type PolicyOverrides } from '@gwk/core/policy/policy';
import { Problem } from '@gwk/core/problems';
import type { Sealer } from '@gwk/core/encryption';
import type { Database } from '../database/database.js';
import { checkEncryptionKeys, WrongEncryptionKey } from '../database/key-check.js';
import { TooFewConnections } from '../database/connection-budget.js';

export const EXIT_CONFIGURATION = 2;
const DATABASE_TIMEOUT_MS = 60_000;

export function isListenError(error: unknown): boolean {
  return ['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** Whether somebody has to change a setting, so that a retry cannot help. */
export function isWrongSetting(error: unknown): error is Error {
  return error instanceof WrongEncryptionKey || error instanceof TooFewConnections;
}

/** @throws ConfigError with the name of the setting */
export function readEnvironmentPolicy(setting: string, text: string): PolicyOverrides {
  try {
    return parsePolicyOverrides(JSON.parse(text));
  } catch (error) {
    const faults = error instanceof Problem ? (error.extras.errors ?? []) : [];
    const said = faults.map(({ path, message }) => `${path}: ${message}`).join('; ');
    throw new ConfigError([`${setting}: ${said || (error as Error).message}`]);
  }
}

/**
 * Waits up to 60 s for Postgres and its migrations.
 * @throws WrongEncryptionKey at once, because a retry cannot help
 */
export async function waitForUsableDatabase(
  db: Database,
  sealer: Sealer,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + DATABASE_TIMEOUT_MS;
  for (;;) {
    try {
      await checkEncryptionKeys(db, sealer);
      return;
    } catch (error) {
      if (error instanceof WrongEncryptionKey || performance.now() > deadline) throw error;
      log.warn({ err: error }, 'waiting for Postgres and its migrations (gwk migrate)');
      await sleep(1_000, undefined, { signal });
    }
  }
}
