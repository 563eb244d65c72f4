import type { KeyObject } from 'node:crypto';
import type { Sealer } from '@gwk/core/encryption';
import { toWebhookKey } from '@gwk/core/webhook-signature';
import { openWebhookSecret } from './secrets.js';

const MOST = 10_000;

/**
 * Signing keys of destinations, by their sealed secrets: opening one and making a key of it costs as much as signing
 * several times. A rotated secret is another sealed one, so nothing here becomes stale; what is no longer asked for
 * is pushed out by what is.
 */
export class SigningKeys {
  readonly #sealer: Sealer;
  readonly #most: number;
  readonly #keys = new Map<string, KeyObject>();

  constructor(sealer: Sealer, most = MOST) {
    this.#sealer = sealer;
    this.#most = most;
  }

  get size(): number {
    return this.#keys.size;
  }

  /** @throws SealError where the secret is not this account's, or cannot be opened here */
  of(accountId: string, sealed: Uint8Array): KeyObject {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    const name = accountId + bytes.toString('base64');
    const known = this.#keys.get(name);
    if (known) return known;
    const key = toWebhookKey(openWebhookSecret(this.#sealer, accountId, sealed));
    if (this.#keys.size >= this.#most) this.#keys.delete(this.#keys.keys().next().value!);
    this.#keys.set(name, key);
    return key;
  }
}
