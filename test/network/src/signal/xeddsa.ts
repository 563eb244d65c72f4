import { createPublicKey, verify, type KeyObject } from 'node:crypto';

/** The prime of the curve, 2^255 - 19. */
const P = 2n ** 255n - 19n;
const DER_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const SIGN_BIT = 0x80;
const LENGTH = 32;

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
}

function toBytes(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(2 * LENGTH, '0'), 'hex').reverse();
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let factor = base % P;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * factor) % P;
    factor = (factor * factor) % P;
  }
  return result;
}

/** Converts a Montgomery key to its Edwards form: y = (u - 1) / (u + 1), with the sign bit of the signature. */
function edwardsKey(key: Uint8Array, sign: number): Buffer {
  const u = littleEndian(key) & (2n ** 255n - 1n);
  const y = (((u - 1n + P) % P) * power(u + 1n, P - 2n)) % P;
  const bytes = toBytes(y);
  bytes.writeUInt8(bytes.readUInt8(LENGTH - 1) | sign, LENGTH - 1);
  return bytes;
}

/** Cache of converted keys, because the conversion costs more than the verification. */
const known = new Map<string, KeyObject>();
const MOST_KNOWN = 1000;

function publicKey(key: Uint8Array, sign: number): KeyObject {
  const name = `${sign} ${Buffer.from(key).toString('base64')}`;
  const found = known.get(name);
  if (found) return found;
  const der = Buffer.concat([DER_PREFIX, edwardsKey(key, sign)]);
  const made = createPublicKey({ key: der, format: 'der', type: 'spki' });
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(name, made);
  return made;
}

/**
 * Verifies an XEdDSA signature. It uses the platform's Ed25519, which is fast and independent of the library that the
 * clients under test use.
 */
export function verifyXeddsa(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (key.length !== LENGTH || signature.length !== 2 * LENGTH) return false;
  const plain = Buffer.from(signature);
  const last = plain.readUInt8(plain.length - 1);
  plain.writeUInt8(last & ~SIGN_BIT, plain.length - 1);
  try {
    return verify(null, message, publicKey(key, last & SIGN_BIT), plain);
  } catch {
    return false;
  }
}
