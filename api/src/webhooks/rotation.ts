import type { SecretRotationOut } from '@gwk/core/resources/webhook';
import { generateWebhookSecret } from '@gwk/core/webhook-signature';
import { audit, byKey } from '../accounts/audit-log.js';
import type { Caller } from '../accounts/caller.js';
import type { Prisma } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import { findEndpoint } from './endpoints.js';
import { openWebhookSecret, sealWebhookSecret } from './secrets.js';

/** Time for which deliveries also have a signature of the previous secret. */
const OVERLAP_HOURS = 24;
/** Signatures of one call. More rotations within a day end the oldest secret, because a header has a limited size. */
export const MAX_SECRETS = 5;

/**
 * Creates a signing secret for the next attempts. The row lock of the endpoint serialises rotations.
 * @param request `resumed`: an interrupted request with the same key may have created it, so the answer has that secret
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
    const existing = resumed ? await tx.webhookSecret.findUnique({ where: { id: secretId } }) : null;
    if (existing) {
      const secret = openWebhookSecret(sealer, accountId, existing.secretSealed);
      return { secret, previous_expires_at: await lastExpiry(tx, endpointId) };
    }
    const secret = generateWebhookSecret();
    await tx.$executeRaw`
      UPDATE webhook_secrets SET expires_at = now() + make_interval(hours => ${OVERLAP_HOURS}::integer)
      WHERE endpoint_id = ${endpointId}::uuid AND expires_at IS NULL`;
    const secretSealed = sealWebhookSecret(sealer, accountId, secret);
    await tx.webhookSecret.create({ data: { id: secretId, endpointId, secretSealed } });
    await deleteOldest(tx, endpointId);
    await audit(tx, byKey(caller, 'webhook.rotate-secret', endpointId));
    return { secret, previous_expires_at: await lastExpiry(tx, endpointId) };
  });
}

async function lastExpiry(tx: Prisma.TransactionClient, endpointId: string): Promise<string> {
  const { _max } = await tx.webhookSecret.aggregate({ where: { endpointId }, _max: { expiresAt: true } });
  return _max.expiresAt!.toISOString();
}

async function deleteOldest(tx: Prisma.TransactionClient, endpointId: string): Promise<void> {
  await tx.$executeRaw`
    DELETE FROM webhook_secrets WHERE id IN (
      SELECT id FROM webhook_secrets WHERE endpoint_id = ${endpointId}::uuid
      ORDER BY created_at DESC, id DESC OFFSET ${MAX_SECRETS}::integer)`;
}
