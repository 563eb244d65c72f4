import type { KeyObject } from 'node:crypto';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { Sealer } from '@gwk/core/encryption';
import { toWebhookKey } from '@gwk/core/webhook-signature';
import { openWebhookSecret } from './secrets.js';

const MAX_KEYS = 10_000;

/**
 * Caches signing keys by encrypted secret, because decrypting a secret and making a key costs as much as several
 * signatures. A rotation creates another encrypted secret, so an entry never becomes stale. The oldest entry is evicted.
 */
export class SigningKeys {
  readonly #sealer: Sealer;
  readonly #keys: ExpiringMap<KeyObject>;

  constructor(sealer: Sealer, max = MAX_KEYS) {
    this.#sealer = sealer;
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
    const key = toWebhookKey(openWebhookSecret(this.#sealer, accountId, sealed));
    this.#keys.set(name, key);
    return key;
  }
}
