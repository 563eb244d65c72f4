import { createHmac, randomBytes } from 'node:crypto';

/** Standard Webhooks (spec: Webhook signature). */
export const WEBHOOK_SECRET_PREFIX = 'whsec_';

/** A new secret: `whsec_` and the base64 of 32 random bytes. */
export function newWebhookSecret(): string {
  return WEBHOOK_SECRET_PREFIX + randomBytes(32).toString('base64');
}

/**
 * The value of `webhook-signature`: one `v1,<base64>` for each secret, separated by spaces.
 * @param timestamp Unix seconds, as sent in `webhook-timestamp`
 * @param body the raw body, byte for byte as posted
 */
export function signWebhook(secrets: readonly string[], id: string, timestamp: number, body: string): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.replace(WEBHOOK_SECRET_PREFIX, ''), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
    })
    .join(' ');
}
