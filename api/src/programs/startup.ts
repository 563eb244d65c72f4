import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '@gwk/core/config/load';
import type { Logger } from '@gwk/core/log';
import { parsePolicyOverrides, type PolicyOverrides } from '@gwk/core/policy/policy';
import { Problem } from '@gwk/core/problems';
import type { Sealer } from '@gwk/core/encryption';
import type { Database } from '../database/database.js';
import { checkSealingKeys, WrongSealingKey } from '../database/key-check.js';
import { NoRoom } from '../database/connection-budget.js';

/** What the programs of this workspace have in common when they start. */
export const EXIT_CONFIGURATION = 2;
const DATABASE_PATIENCE_MS = 60_000;

export function isListenError(error: unknown): boolean {
  return ['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** Waiting would not mend it: somebody has to change a setting. */
export function isWrongSetting(error: unknown): error is Error {
  return error instanceof WrongSealingKey || error instanceof NoRoom;
}

/** @throws ConfigError that names the setting */
export function readEnvironmentPolicy(setting: string, text: string): PolicyOverrides {
  try {
    return parsePolicyOverrides(JSON.parse(text));
  } catch (error) {
    const faults = error instanceof Problem ? (error.extras.errors ?? []) : [];
    const said = faults.map(({ path, message }) => `${path}: ${message}`).join('; ');
    throw new ConfigError([`${setting}: ${said || (error as Error).message}`]);
  }
}

/** Postgres may come up after us, and migrations may still be under way; a wrong key is no matter of time. */
export async function untilUsable(
  db: Database,
  sealer: Sealer,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + DATABASE_PATIENCE_MS;
  for (;;) {
    try {
      await checkSealingKeys(db, sealer);
      return;
    } catch (error) {
      if (error instanceof WrongSealingKey || performance.now() > deadline) throw error;
      log.warn({ err: error }, 'waiting for Postgres and its migrations (gwk migrate)');
      await sleep(1_000, undefined, { signal });
    }
  }
}
