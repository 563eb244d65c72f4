import { createHmac, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';

/** Standard Webhooks (spec: Webhook signature). */
const WEBHOOK_SECRET_PREFIX = 'whsec_';

/** A new secret: `whsec_` and the base64 of 32 random bytes. */
export function generateWebhookSecret(): string {
  return WEBHOOK_SECRET_PREFIX + randomBytes(32).toString('base64');
}

/** What a secret signs with. A key object: with bytes Node takes several times as long to begin. */
export function toWebhookKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret.replace(WEBHOOK_SECRET_PREFIX, ''), 'base64'));
}

/**
 * The value of `webhook-signature`: one `v1,<base64>` for each key, separated by spaces.
 * @param timestamp Unix seconds, as sent in `webhook-timestamp`
 * @param body the raw body, byte for byte as posted
 */
export function signWebhook(keys: readonly KeyObject[], id: string, timestamp: number, body: string): string {
  const signed = `${id}.${timestamp}.${body}`;
  return keys.map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`).join(' ');
}
