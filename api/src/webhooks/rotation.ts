import type { SecretRotationOut } from '@gwk/core/resources/webhook';
import { generateWebhookSecret } from '@gwk/core/webhook-signature';
import { audit, byKey } from '../accounts/audit-log.js';
import type { Caller } from '../accounts/caller.js';
import type { Prisma } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import { findEndpoint } from './endpoints.js';
import { openWebhookSecret, sealWebhookSecret } from './secrets.js';

/** For how long the secret before signs too (spec: after `rotate-secret`). */
const OVERLAP_HOURS = 24;
/** Signatures of one call. Who rotates more often within a day ends the oldest: a header has its bounds. */
export const MAX_SECRETS = 5;

/**
 * The new secret signs from the next attempt on. The lock of the destination makes rotations one after another.
 * @param request `resumed`: an earlier request may have made it; its answer was never given, the secret is still to tell
 * @throws Problem `not-found`
 */
export async function rotateSecret(
  { db, sealer }: Pick<Services, 'db' | 'sealer'>,
  caller: Caller,
  request: { endpointId: string; secretId: string; resumed: boolean },
): Promise<SecretRotationOut> {
  const { endpointId, secretId, resumed } = request;
  const { accountId } = caller;
  return db.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT id FROM webhook_endpoints WHERE id = ${endpointId}::uuid FOR NO KEY UPDATE`;
    await findEndpoint(tx, caller, endpointId);
    const made = resumed ? await tx.webhookSecret.findUnique({ where: { id: secretId } }) : null;
    if (made) {
      const secret = openWebhookSecret(sealer, accountId, made.secretSealed);
      return { secret, previous_expires_at: await lastExpiry(tx, endpointId) };
    }
    const secret = generateWebhookSecret();
    await tx.$executeRaw`
      UPDATE webhook_secrets SET expires_at = now() + make_interval(hours => ${OVERLAP_HOURS}::integer)
      WHERE endpoint_id = ${endpointId}::uuid AND expires_at IS NULL`;
    const secretSealed = new Uint8Array(sealWebhookSecret(sealer, accountId, secret));
    await tx.webhookSecret.create({ data: { id: secretId, endpointId, secretSealed } });
    await endOldest(tx, endpointId);
    await audit(tx, byKey(caller, 'webhook.rotate-secret', endpointId));
    return { secret, previous_expires_at: await lastExpiry(tx, endpointId) };
  });
}

async function lastExpiry(tx: Prisma.TransactionClient, endpointId: string): Promise<string> {
  const { _max } = await tx.webhookSecret.aggregate({ where: { endpointId }, _max: { expiresAt: true } });
  return _max.expiresAt!.toISOString();
}

async function endOldest(tx: Prisma.TransactionClient, endpointId: string): Promise<void> {
  await tx.$executeRaw`
    DELETE FROM webhook_secrets WHERE id IN (
      SELECT id FROM webhook_secrets WHERE endpoint_id = ${endpointId}::uuid
      ORDER BY created_at DESC, id DESC OFFSET ${MAX_SECRETS}::integer)`;
}
