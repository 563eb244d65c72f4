import './silence-libsignal.js';
import { randomInt } from 'node:crypto';
import { Curve, signedKeyPair } from '@whiskeysockets/baileys';
import { bigEndian, readBytes, child, node, readNumber, ProtocolError, type Node } from '../wire/nodes.js';
import { verifyXeddsa } from './xeddsa.js';
import type { KeyPair } from '../wire/certificates.js';

/** Prefix byte of public keys in signatures and Signal messages. */
const KEY_TYPE = Buffer.from([5]);
const LONGEST_REGISTRATION = 16380;

export interface PreKey {
  id: number;
  key: Buffer;
}

export interface SignedPreKey extends PreKey {
  signature: Buffer;
}

/** Keys that others need to start a session with a device. */
export interface Bundle {
  registrationId: number;
  identity: Buffer;
  signedPreKey: SignedPreKey;
  /** A one-time pre-key. Undefined if the device has run out of them. */
  preKey?: PreKey;
}

export function typed(key: Uint8Array): Buffer {
  return key.length === 33 ? Buffer.from(key) : Buffer.concat([KEY_TYPE, key]);
}

export function verified(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  return verifyXeddsa(typed(key).subarray(1), message, signature);
}

export const sign = (key: KeyPair, message: Uint8Array): Buffer =>
  Buffer.from(Curve.sign(key.private, message));

export const makeKeyPair = (): KeyPair => Curve.generateKeyPair();

export const makeRegistrationId = (): number => randomInt(1, LONGEST_REGISTRATION);

export function makeSignedPreKey(identity: KeyPair, id: number) {
  const { keyPair, signature } = signedKeyPair({ public: identity.public, private: identity.private }, id);
  return { id, pair: keyPair, signature: Buffer.from(signature) };
}

function preKeyNode(tag: string, key: PreKey | SignedPreKey): Node {
  return node(tag, {}, [
    node('id', {}, bigEndian(key.id, 3)),
    node('value', {}, key.key),
    ...('signature' in key ? [node('signature', {}, key.signature)] : []),
  ]);
}

export function bundleNodes(bundle: Bundle): Node[] {
  return [
    node('registration', {}, bigEndian(bundle.registrationId, 4)),
    node('type', {}, KEY_TYPE),
    node('identity', {}, bundle.identity),
    preKeyNode('skey', bundle.signedPreKey),
    ...(bundle.preKey ? [preKeyNode('key', bundle.preKey)] : []),
  ];
}

export function readPreKey(from: Node | undefined, what: string): PreKey {
  const id = readNumber(child(from, 'id'), `${what} id`);
  const key = readBytes(child(from, 'value'), `${what} value`);
  if (key.length !== 32) throw new ProtocolError(`${what} of ${key.length} bytes`);
  return { id, key };
}

export function readSignedPreKey(from: Node | undefined, identity: Uint8Array): SignedPreKey {
  const read = readPreKey(from, 'signed pre-key');
  const signature = readBytes(child(from, 'signature'), 'signature of the signed pre-key');
  if (!verified(identity, typed(read.key), signature)) {
    throw new ProtocolError('the signature of the signed pre-key is not of its identity');
  }
  return { ...read, signature };
}
