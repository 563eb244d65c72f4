import type { Sealer } from '@gwk/core/encryption';

/** Signing secrets of endpoints are stored encrypted, with the account id as context. */
const COLUMN = 'webhook_secrets.secret_sealed';

export function sealWebhookSecret(
  sealer: Sealer,
  accountId: string,
  secret: string,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(sealer.seal(accountId, COLUMN, secret));
}

export function openWebhookSecret(sealer: Sealer, accountId: string, sealed: Uint8Array): string {
  return sealer.open(accountId, COLUMN, sealed).toString('utf8');
}
