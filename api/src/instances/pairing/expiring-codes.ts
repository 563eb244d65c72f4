import { newUuid } from '@gwk/core/ids';
import type { Sealer } from '@gwk/core/sealing';
import type { Queryable } from '../../database/database.js';
import { sealEventData } from '../../events/emit.js';
import { recordIdOf, type RequestName } from '../../http/idempotency/record-id.js';
import { RESPONSE_COLUMN } from '../../http/idempotency/store.js';

/**
 * Codes by which a phone pairs stay nowhere beyond their time (design: At rest). Where one is written down, what is
 * to stand there afterwards is written down beside it, sealed for the same place, and the worker exchanges them: it
 * need not open anything.
 */
export async function expireEventCode(
  tx: Queryable,
  sealer: Sealer,
  event: { id: string; accountId: string; data: Record<string, unknown>; expiresAt: Date },
): Promise<void> {
  const rest = Object.entries(event.data).filter(([name]) => name !== 'code');
  const after = sealEventData(sealer, event.accountId, Object.fromEntries(rest));
  await tx.$executeRaw`
    INSERT INTO expiring_codes (id, account_id, event_id, after_sealed, expires_at)
    VALUES (${newUuid()}::uuid, ${event.accountId}::uuid, ${event.id}::uuid, ${after}, ${event.expiresAt})`;
}

export async function expireAnswerCode(
  db: Queryable,
  sealer: Sealer,
  answer: RequestName & { bodyAfter: unknown; expiresAt: Date },
): Promise<void> {
  const { accountId, expiresAt } = answer;
  const after = sealer.sealJson(accountId, RESPONSE_COLUMN, answer.bodyAfter);
  await db.$executeRaw`
    INSERT INTO expiring_codes (id, account_id, record_id, after_sealed, expires_at)
    VALUES (${newUuid()}::uuid, ${accountId}::uuid, ${recordIdOf(answer)}::uuid, ${after}, ${expiresAt})`;
}
