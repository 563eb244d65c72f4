import type { KeyObject } from 'node:crypto';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { toWebhookKey } from './signature.js';

/** Signing secrets and custom headers of endpoints are stored encrypted, with the account id as context. */
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

const HEADERS_COLUMN = 'webhook_endpoints.headers_sealed';

/** Returns null without headers. */
export function sealHeaders(
  sealer: Sealer,
  accountId: string,
  headers: Record<string, string>,
): Uint8Array<ArrayBuffer> | null {
  if (Object.keys(headers).length === 0) return null;
  return new Uint8Array(sealer.seal(accountId, HEADERS_COLUMN, JSON.stringify(headers)));
}

export function openHeaders(
  sealer: Sealer,
  accountId: string,
  sealed: Uint8Array | null,
): Record<string, string> {
  if (sealed === null) return {};
  return sealer.openJson(accountId, HEADERS_COLUMN, sealed) as Record<string, string>;
}

const MAX_KEYS = 10_000;

/**
 * Caches signing keys by encrypted secret, because decrypting a secret and making a key costs as much as several
 * signatures. A rotation creates another encrypted secret, so an entry never becomes stale. The oldest entry is evicted.
 */
export class SigningKeys {
  readonly #keys: ExpiringMap<KeyObject>;

  constructor(
    private readonly sealer: Sealer,
    max = MAX_KEYS,
  ) {
    this.#keys = new ExpiringMap({ max, ttlMs: Infinity });
  }

  get size(): number {
    return this.#keys.size;
  }

  /** @throws SealError if the secret belongs to another account or none of the configured keys decrypts it */
  get(accountId: string, sealed: Uint8Array): KeyObject {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    const name = accountId + bytes.toString('base64');
    const cached = this.#keys.get(name);
    if (cached) return cached;
    const key = toWebhookKey(openWebhookSecret(this.sealer, accountId, sealed));
    this.#keys.set(name, key);
    return key;
  }
}
