import { SealError, type Sealer } from '@gwk/core/crypto/encryption';
import type { Database } from './database.js';

const SCOPE = 'key check';
const COLUMN = 'key_checks.sealed';
const WORD = 'gwk';

export class WrongEncryptionKey extends Error {
  override name = 'WrongEncryptionKey';
}

/**
 * Checks that the configured keys include every key of this database, which has one encrypted word for each key. A program with
 * other keys would write values that nobody can decrypt, so it does not start.
 * @throws WrongEncryptionKey with the fix
 */
export async function checkEncryptionKeys(db: Database, sealer: Sealer): Promise<void> {
  const rows = await db.keyCheck.findMany({ orderBy: { createdAt: 'asc' } });
  const configured = new Set(sealer.keys.map(({ id }) => id));
  const missing = rows.map(({ keyId }) => keyId).filter((id) => !configured.has(id));
  if (missing.length > 0) throw new WrongEncryptionKey(describeFix(missing, [...configured]));
  for (const row of rows) verifyKey(sealer, row);
  const current = sealer.keys[0]!.id;
  if (rows.some(({ keyId }) => keyId === current)) return;
  // If several programs start at once, the first row stays.
  const sealed = new Uint8Array(sealer.seal(SCOPE, COLUMN, WORD));
  await db.keyCheck.createMany({ data: [{ keyId: current, sealed }], skipDuplicates: true });
}

function verifyKey(sealer: Sealer, { keyId, sealed }: { keyId: string; sealed: Uint8Array }): void {
  try {
    if (sealer.open(SCOPE, COLUMN, sealed).toString() === WORD) return;
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
  }
  throw new WrongEncryptionKey(describeFix([keyId], []));
}

function describeFix(missing: string[], configured: string[]): string {
  const has = configured.length > 0 ? ` (GWK_ENCRYPTION_KEYS has ${configured.join(', ')})` : '';
  return (
    `this database was written with encryption key ${missing.join(', ')}, which is not configured${has}. ` +
    'Set GWK_ENCRYPTION_KEYS to the key that was in use. To rotate, put the new key first and the old one after it, ' +
    'separated by a comma.'
  );
}
