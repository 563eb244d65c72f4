import { SealError, type Sealer } from '@gwk/core/encryption';
import type { Database } from './database.js';

/**
 * Proof that the configured sealing keys are those this database was written with: a sealed word for each key ever
 * used. A program with other keys would seal what nobody can open, so it refuses to start.
 */
const SCOPE = 'key check';
const COLUMN = 'key_checks.sealed';
const WORD = 'gwk';

export class WrongSealingKey extends Error {
  override name = 'WrongSealingKey';
}

/** @throws WrongSealingKey that names the cure */
export async function checkSealingKeys(db: Database, sealer: Sealer): Promise<void> {
  const rows = await db.keyCheck.findMany({ orderBy: { createdAt: 'asc' } });
  const configured = new Set(sealer.keys.map(({ id }) => id));
  const missing = rows.map(({ keyId }) => keyId).filter((id) => !configured.has(id));
  if (missing.length > 0) throw new WrongSealingKey(cure(missing, [...configured]));
  for (const row of rows) proveKey(sealer, row);
  const current = sealer.keys[0]!.id;
  if (rows.some(({ keyId }) => keyId === current)) return;
  // Several programs may start at once: the first row stays.
  const sealed = new Uint8Array(sealer.seal(SCOPE, COLUMN, WORD));
  await db.keyCheck.createMany({ data: [{ keyId: current, sealed }], skipDuplicates: true });
}

function proveKey(sealer: Sealer, { keyId, sealed }: { keyId: string; sealed: Uint8Array }): void {
  try {
    if (sealer.open(SCOPE, COLUMN, sealed).toString() === WORD) return;
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
  }
  throw new WrongSealingKey(cure([keyId], []));
}

function cure(missing: string[], configured: string[]): string {
  const has = configured.length > 0 ? ` (GWK_ENCRYPTION_KEYS has ${configured.join(', ')})` : '';
  return (
    `this database was written with sealing key ${missing.join(', ')}, which is not configured${has}. ` +
    'Set GWK_ENCRYPTION_KEYS to the key that was in use; to rotate, put the new key first and keep the old one ' +
    'behind it, separated by a comma.'
  );
}
