import { createHmac, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';

/** Signatures of the Standard Webhooks specification. */
const WEBHOOK_SECRET_PREFIX = 'whsec_';

/** @returns `whsec_` and 32 random bytes in base64 */
export function generateWebhookSecret(): string {
  return WEBHOOK_SECRET_PREFIX + randomBytes(32).toString('base64');
}

/** A KeyObject: with raw bytes Node needs several times as long to initialise the HMAC. */
export function toWebhookKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret.replace(WEBHOOK_SECRET_PREFIX, ''), 'base64'));
}

/**
 * @returns the header `webhook-signature`: one `v1,<base64>` for each key, separated by spaces
 * @param timestamp Unix seconds, as sent in `webhook-timestamp`
 * @param body the raw body, exactly as posted
 */
export function signWebhook(keys: readonly KeyObject[], id: string, timestamp: number, body: string): string {
  const signed = `${id}.${timestamp}.${body}`;
  return keys.map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`).join(' ');
}
