import { createHash, createHmac, hkdfSync } from 'node:crypto';
import { aesEncryptGCM, Curve, getBinaryNodeChild, proto, type BinaryNode } from '@whiskeysockets/baileys';
import type { PasskeyOptions } from '@gwk/core/resources/pairing';

/** Derivations of the linking with a passkey, with the names of the protocol. They do no I/O. */
const KEY_LENGTH = 32;
const CODE_BYTES = 5;
const CODE_LETTERS = '123456789ABCDEFGHJKLMNPQRSTVWXYZ';
/** The site that passkeys of the network belong to. */
const RP_ID = 'whatsapp.com';
/** Longest request for a passkey, in bytes. */
const MAX_OPTIONS = 8_192;
/** As the network gives it, and the most that the interface shows. */
const MAX_TIMEOUT_MS = 600_000;

/** WebAuthn options of the network, and for how long it takes an answer. */
export interface PasskeyRequest {
  options: PasskeyOptions;
  timeoutMs: number;
}

/** The ephemeral key and the nonce of the phone. */
export interface PhoneIdentity {
  publicKey: Uint8Array;
  nonce: Uint8Array;
}

const sha256 = (...parts: Uint8Array[]): Buffer => createHash('sha256').update(Buffer.concat(parts)).digest();

const derive = (secret: Uint8Array, salt: string, info: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, KEY_LENGTH));

/** Null: a request that this version does not understand. */
export function readPasskeyRequest(stanza: BinaryNode): PasskeyRequest | null {
  const bytes = readBytes(stanza, 'passkey_request_options');
  if (bytes === null || bytes.length > MAX_OPTIONS) return null;
  try {
    const options = JSON.parse(bytes.toString('utf8')) as PasskeyOptions & { timeout?: unknown };
    const { challenge, rpId, timeout } = options;
    if (typeof challenge !== 'string' || rpId !== RP_ID) return null;
    const isLimit = typeof timeout === 'number' && timeout > 0;
    const timeoutMs = isLimit ? Math.min(Math.ceil(timeout), MAX_TIMEOUT_MS) : MAX_TIMEOUT_MS;
    return { options, timeoutMs };
  } catch {
    return null;
  }
}

/** Null: malformed. */
export function readPhoneIdentity(stanza: BinaryNode): PhoneIdentity | null {
  const bytes = readBytes(stanza, 'primary_ephemeral_identity');
  if (bytes === null) return null;
  try {
    const { publicKey, nonce } = proto.PrimaryEphemeralIdentity.decode(bytes);
    if (publicKey?.length !== KEY_LENGTH || nonce?.length !== KEY_LENGTH) return null;
    return { publicKey, nonce };
  } catch {
    return null;
  }
}

export function readBytes(stanza: BinaryNode | undefined, tag: string): Buffer | null {
  const content = stanza && getBinaryNodeChild(stanza, tag)?.content;
  if (typeof content === 'string') return Buffer.from(content);
  return content instanceof Uint8Array ? Buffer.from(content) : null;
}

interface Companion {
  publicKey: Uint8Array;
  deviceType: proto.DeviceProps.PlatformType;
  ref: string;
}

/** The identity of this device, with a commitment to a nonce that it reveals later. */
export function buildPrologue(companion: Companion, nonce: Uint8Array): Buffer {
  const identity = proto.CompanionEphemeralIdentity.encode(companion).finish();
  const commitment = { hash: sha256(identity, nonce) };
  return Buffer.from(
    proto.ProloguePayload.encode({ companionEphemeralIdentity: identity, commitment }).finish(),
  );
}

/** Key of the proof that this device is the one whose code was scanned, from the secret of that code. */
export const deriveHandoffKey = (secret: Uint8Array): Buffer =>
  derive(secret, '', 'shortcake-passkey-handoff-v1');

export const proveHandoff = (key: Uint8Array, prologue: Uint8Array): Buffer =>
  createHmac('sha256', key).update(prologue).digest();

/** The code that people compare with the one on the phone, as `ABCD-1234`. */
export function deriveCode(nonce: Uint8Array, phone: PhoneIdentity): string {
  const digest = sha256(nonce, phone.publicKey);
  const bits = Array.from({ length: CODE_BYTES }, (_, index) =>
    (digest[index]! ^ phone.nonce[index]!).toString(2).padStart(8, '0'),
  ).join('');
  const letters = bits.replace(/.{5}/g, (five) => CODE_LETTERS[Number.parseInt(five, 2)]!);
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}

/** Encrypts the keys of this device for the phone. */
export function encryptPairingRequest(
  request: { companionPublicKey: Uint8Array; companionIdentityKey: Uint8Array; advSecret: Uint8Array },
  { privateKey, phone, iv, ...companion }: Omit<Companion, 'publicKey'> & EncryptionKeys,
): Buffer {
  const shared = Curve.sharedKey(privateKey, phone.publicKey);
  const salt = `Companion Pairing ${companion.deviceType} with ref ${companion.ref}`;
  const key = derive(shared, salt, 'Pairing Information Encryption Key');
  const plain = proto.PairingRequest.encode(request).finish();
  const encryptedPayload = aesEncryptGCM(plain, key, iv, Buffer.alloc(0));
  return Buffer.from(proto.EncryptedPairingRequest.encode({ encryptedPayload, iv }).finish());
}

interface EncryptionKeys {
  privateKey: Uint8Array;
  phone: PhoneIdentity;
  /** 12 bytes. */
  iv: Uint8Array;
}
