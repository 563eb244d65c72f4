import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomFillSync,
  type KeyObject,
} from 'node:crypto';

/**
 * Encryption at rest with AES-256-GCM. HKDF derives a key for each scope (an instance or an account) from the
 * configured key. Scope and column are authenticated data, so a ciphertext that is copied to another row or column does
 * not decrypt.
 *
 * Format: key id (8 bytes) | nonce (12) | tag (16) | ciphertext. Rotation: the first configured key encrypts, every
 * configured key decrypts.
 */
export interface EncryptionKey {
  /** 16 hex characters. */
  id: string;
  key: Buffer;
}

const NONCE = 12;
const TAG = 16;
const KEY_ID = 8;
const HEADER = KEY_ID + NONCE + TAG;
const MAX_CACHED_SCOPES = 20_000;

export class SealError extends Error {
  override name = 'SealError';
}

/** Parses `base64[,base64...]`: keys of 32 bytes, newest first. The id of a key is a digest of it. */
export function parseEncryptionKeys(text: string): EncryptionKey[] {
  const keys = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const key = Buffer.from(part, 'base64');
      if (key.length !== 32) throw new SealError('each encryption key must be 32 bytes in base64');
      return {
        key,
        id: createHmac('sha256', key)
          .update('gwk key id')
          .digest('hex')
          .slice(0, KEY_ID * 2),
      };
    });
  if (keys.length === 0) throw new SealError('at least one encryption key is required');
  return keys;
}

export class Sealer {
  readonly keys: readonly EncryptionKey[];
  readonly #byId: Map<string, EncryptionKey>;
  /** KeyObjects: with raw bytes Node needs five to ten times as long to initialise a cipher or an HMAC. */
  readonly #derived = new Map<string, KeyObject>();

  constructor(keys: readonly EncryptionKey[]) {
    if (keys.length === 0) throw new SealError('at least one encryption key is required');
    this.keys = keys;
    this.#byId = new Map(keys.map((key) => [key.id, key]));
  }

  /** `scope`: the id of the instance or account; `column`: `table.column`. */
  seal(scope: string, column: string, plain: Uint8Array | string): Buffer {
    const current = this.keys[0]!;
    const nonce = newNonce();
    const cipher = createCipheriv('aes-256-gcm', this.#keyFor(current, scope), nonce);
    cipher.setAAD(Buffer.from(`${scope}\n${column}`));
    const body = typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain);
    cipher.final();
    const sealed = Buffer.allocUnsafe(HEADER + body.length);
    sealed.write(current.id, 'hex');
    sealed.set(nonce, KEY_ID);
    sealed.set(cipher.getAuthTag(), KEY_ID + NONCE);
    sealed.set(body, HEADER);
    return sealed;
  }

  /** @throws SealError when the key is unknown or the ciphertext is not of this scope and column. */
  open(scope: string, column: string, sealed: Uint8Array): Buffer {
    if (sealed.length < HEADER) throw new SealError(`${column}: too short to be a ciphertext`);
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    const id = bytes.toString('hex', 0, KEY_ID);
    const key = this.#byId.get(id);
    if (!key) throw new SealError(`${column}: encrypted with key ${id}, which is not configured`);
    const decipher = createDecipheriv(
      'aes-256-gcm',
      this.#keyFor(key, scope),
      bytes.subarray(KEY_ID, KEY_ID + NONCE),
    );
    decipher.setAAD(Buffer.from(`${scope}\n${column}`));
    decipher.setAuthTag(bytes.subarray(KEY_ID + NONCE, HEADER));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(HEADER)), decipher.final()]);
    } catch {
      throw new SealError(`${column}: the ciphertext belongs to another row or column, or was modified`);
    }
  }

  sealJson(scope: string, column: string, value: unknown): Buffer {
    return this.seal(scope, column, JSON.stringify(value));
  }

  openJson(scope: string, column: string, sealed: Uint8Array): unknown {
    return JSON.parse(this.open(scope, column, sealed).toString('utf8'));
  }

  /** @returns an HMAC-SHA256 of a value that is only compared, never read back */
  fingerprint(scope: string, purpose: string, value: string): Buffer {
    return this.#fingerprint(this.keys[0]!, scope, purpose, value);
  }

  /**
   * @returns the fingerprints with all configured keys, the current one first, to match values from before a rotation
   */
  fingerprints(scope: string, purpose: string, value: string): Buffer[] {
    return this.keys.map((key) => this.#fingerprint(key, scope, purpose, value));
  }

  #fingerprint(key: EncryptionKey, scope: string, purpose: string, value: string): Buffer {
    const secret = this.#keyFor(key, `${scope}\nfingerprint`);
    return createHmac('sha256', secret).update(`${purpose}\n${value}`).digest();
  }

  #keyFor(key: EncryptionKey, scope: string): KeyObject {
    const name = key.id + scope;
    let derived = this.#derived.get(name);
    if (derived === undefined) {
      if (this.#derived.size >= MAX_CACHED_SCOPES) this.#derived.clear();
      const bytes = hkdfSync('sha256', key.key, '', `gwk sealing\n${scope}`, 32);
      derived = createSecretKey(new Uint8Array(bytes));
      this.#derived.set(name, derived);
    }
    return derived;
  }
}

/** Random bytes for many nonces at once. Each nonce is used once. */
const nonces = Buffer.alloc(NONCE * 256);
let nextNonce = nonces.length;

function newNonce(): Buffer {
  if (nextNonce === nonces.length) {
    randomFillSync(nonces);
    nextNonce = 0;
  }
  const nonce = Buffer.from(nonces.subarray(nextNonce, nextNonce + NONCE));
  nextNonce += NONCE;
  return nonce;
}
