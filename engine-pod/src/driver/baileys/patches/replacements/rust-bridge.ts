import { createHash, createSecretKey, hkdfSync } from 'node:crypto';

/** The part of whatsapp-rust-bridge that Baileys uses, with Node's cryptography. */

interface HkdfInfo {
  salt?: Uint8Array | null;
  info?: string | null;
}

export function hkdf(key: Uint8Array, length: number, { salt, info }: HkdfInfo): Uint8Array {
  return new Uint8Array(
    hkdfSync('sha256', createSecretKey(key), salt ?? new Uint8Array(0), info ?? '', length),
  );
}

export function md5(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('md5').update(bytes).digest());
}

const STATE_KEYS = [
  'indexKey',
  'valueEncryptionKey',
  'valueMacKey',
  'snapshotMacKey',
  'patchMacKey',
] as const;
const STATE_KEY_BYTES = 32;

/** Keys of the account's synchronised settings (app state). */
export function expandAppStateKeys(key: Uint8Array): Record<(typeof STATE_KEYS)[number], Uint8Array> {
  const all = hkdf(key, STATE_KEYS.length * STATE_KEY_BYTES, { info: 'WhatsApp Mutation Keys' });
  const keys = STATE_KEYS.map((name, place) => [
    name,
    all.slice(place * STATE_KEY_BYTES, (place + 1) * STATE_KEY_BYTES),
  ]);
  return Object.fromEntries(keys) as Record<(typeof STATE_KEYS)[number], Uint8Array>;
}

const HASH_BYTES = 128;

/** A sum of hashes in 16-bit words, independent of the order of addition. */
export class LTHashAntiTampering {
  subtractThenAdd(base: Uint8Array, subtract: Uint8Array[], add: Uint8Array[]): Uint8Array {
    const sum = new Uint8Array(base);
    for (const item of subtract) accumulate(sum, item, -1);
    for (const item of add) accumulate(sum, item, 1);
    return sum;
  }
}

function accumulate(sum: Uint8Array, item: Uint8Array, sign: 1 | -1): void {
  const hash = hkdf(item, HASH_BYTES, { info: 'WhatsApp Patch Integrity' });
  const [words, added] = [toDataView(sum), toDataView(hash)];
  for (let at = 0; at < HASH_BYTES; at += 2) {
    words.setUint16(at, words.getUint16(at, true) + sign * added.getUint16(at, true), true);
  }
}

const toDataView = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);
