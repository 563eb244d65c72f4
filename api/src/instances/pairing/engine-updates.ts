import type { EngineRequest, EngineResponse, PairingUpdate } from '@gwk/core/protocol/engine';
import { newUuid } from '@gwk/core/ids/ids';
import { LANGUAGES } from '@gwk/core/language';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { emit, instanceEvent, removeCode, sealEventData } from '../../events/emit.js';
import type { Prisma } from '../../generated/prisma/client.js';
import type { Database } from '../../database/database.js';
import { fence, inOrder, type EngineCaller } from '../../fencing/fence.js';
import { RefusalError } from '../../fencing/refusal.js';
import { pairingFailure } from './reasons.js';
import { closeSession, sealCode, sealPasskey } from './sessions.js';

/** Records an engine's pairing update: a code with its event, or the end of the session. Updates of earlier sessions are ignored. */
export async function recordPairing(
  { database, sealer }: { database: Database; sealer: Sealer },
  { instanceId }: EngineCaller,
  request: EngineRequest<'pairing'>,
): Promise<EngineResponse<'pairing'>> {
  const { session, news } = request;
  const open = await database.$transaction(async (tx) => {
    await fence(tx, instanceId, request);
    const isOpen = await lockSession(tx, instanceId, session);
    if (!isOpen || !(await inOrder(tx, instanceId, 'pairing', request))) return isOpen;
    if (news.kind === 'failed') {
      await closeSession(tx, instanceId, news.reason);
      const { reason } = news;
      // Each consumer of the event gets the same text.
      const data = { reason, detail: pairingFailure(reason)[LANGUAGES[0]] };
      const subject = { accountId: await findAccount(tx, instanceId), instanceId };
      await emit(tx, sealer, [instanceEvent('instance.pairing_failed', subject, new Date(), data)]);
      return false;
    }
    if (news.kind === 'qr' || news.kind === 'code') await show(tx, sealer, instanceId, news);
    else await showPasskey(tx, sealer, instanceId, news);
    return true;
  });
  return { open };
}

async function lockSession(tx: Prisma.TransactionClient, instanceId: string, id: string): Promise<boolean> {
  const rows = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM pairing_sessions
    WHERE instance_id = ${instanceId}::uuid AND id = ${id}::uuid AND state = 'pairing' FOR UPDATE`;
  return rows.length > 0;
}

/** Drops a code of the other method, which does not belong to the session. */
async function show(
  tx: Prisma.TransactionClient,
  sealer: Sealer,
  instanceId: string,
  news: Extract<PairingUpdate, { kind: 'qr' | 'code' }>,
): Promise<void> {
  const method = news.kind === 'qr' ? 'qr' : 'code';
  const now = new Date();
  const expiresAt = new Date(now.getTime() + news.expires_in_ms);
  const { count } = await tx.pairingSession.updateMany({
    where: { instanceId, method },
    data: {
      codeSealed: sealCode(sealer, instanceId, news.code),
      qrCount: { increment: 1 },
      expiresAt,
      updatedAt: now,
    },
  });
  if (count === 0 || news.kind !== 'qr') return;
  const accountId = await findAccount(tx, instanceId);
  const data = { code: news.code, expires_in_s: Math.ceil(news.expires_in_ms / 1000) };
  const draft = instanceEvent('instance.qr', { accountId, instanceId }, now, data);
  const [id] = await emit(tx, sealer, [draft]);
  await expireEventCode(tx, sealer, { id: id!, accountId, data: draft.data, expiresAt });
}

/** Ignores an engine that asks without permission. The QR code has been scanned, so it is shown no longer. */
async function showPasskey(
  tx: Prisma.TransactionClient,
  sealer: Sealer,
  instanceId: string,
  news: Extract<PairingUpdate, { kind: 'passkey' | 'passkey_code' }>,
): Promise<void> {
  const now = new Date();
  const step =
    news.kind === 'passkey' ? { options: news.options, code: null } : { options: null, code: news.code };
  const { count } = await tx.pairingSession.updateMany({
    where: { instanceId, passkeys: true },
    data: {
      codeSealed: null,
      passkeySealed: sealPasskey(sealer, instanceId, step),
      passkeyCount: { increment: 1 },
      passkeyExpiresAt: new Date(now.getTime() + news.expires_in_ms),
      updatedAt: now,
    },
  });
  if (count === 0 || news.kind !== 'passkey') return;
  const accountId = await findAccount(tx, instanceId);
  const data = { expires_in_s: Math.ceil(news.expires_in_ms / 1000) };
  await emit(tx, sealer, [instanceEvent('instance.passkey_requested', { accountId, instanceId }, now, data)]);
}

async function findAccount(tx: Prisma.TransactionClient, id: string): Promise<string> {
  return (await tx.instance.findUniqueOrThrow({ where: { id }, select: { accountId: true } })).accountId;
}

/** Records that the engine unlinked the device after a logout or a deletion. */
export async function recordUnlinked(
  { database }: { database: Database },
  { instanceId }: EngineCaller,
  request: EngineRequest<'unlinked'>,
): Promise<void> {
  const { id } = request;
  await database.$transaction(async (tx) => {
    await fence(tx, instanceId, request).catch((error: unknown) => {
      if (!(error instanceof RefusalError) || error.refusal !== 'gone') throw error;
    });
    const which = id === null ? { deletedAt: { not: null } } : { unlinkId: id };
    await tx.instance.updateMany({ where: { id: instanceId, ...which }, data: { unlinkId: null } });
  });
}

interface EventWithCode {
  id: string;
  accountId: string;
  data: Record<string, unknown>;
  expiresAt: Date;
}

/**
 * Schedules the removal of the pairing code in an event: at `expiresAt` the worker replaces the event's data by data
 * without the code, which is encrypted for the same place, so the worker need not decrypt anything.
 */
export async function expireEventCode(
  tx: Prisma.TransactionClient,
  sealer: Sealer,
  { id: eventId, accountId, data, expiresAt }: EventWithCode,
): Promise<void> {
  const replacementSealed = new Uint8Array(sealEventData(sealer, accountId, removeCode(data)));
  await tx.expiringCode.create({
    data: { id: newUuid(), accountId, eventId, replacementSealed, expiresAt },
  });
}
