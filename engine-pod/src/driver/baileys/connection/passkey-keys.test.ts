import { createHash } from 'node:crypto';
import { aesDecryptGCM, Curve, proto, type BinaryNode } from '@whiskeysockets/baileys';
import {
  buildPrologue,
  deriveCode,
  deriveHandoffKey,
  encryptPairingRequest,
  proveHandoff,
  readPasskeyRequest,
  readPhoneIdentity,
} from './passkey-keys.js';

const stanza = (tag: string, content: BinaryNode['content']): BinaryNode => ({
  tag: 'notification',
  attrs: {},
  content: [{ tag, attrs: {}, content }],
});
const request = (options: unknown): BinaryNode =>
  stanza(
    'passkey_request_options',
    Buffer.from(typeof options === 'string' ? options : JSON.stringify(options)),
  );
const OPTIONS = { challenge: 'AAAA', rpId: 'whatsapp.com' };

test.each([
  [{ ...OPTIONS, timeout: 60_000 }, 60_000],
  [{ ...OPTIONS, timeout: 0.5 }, 1],
  [OPTIONS, 600_000],
  [{ ...OPTIONS, timeout: -1 }, 600_000],
  [{ ...OPTIONS, timeout: 3_600_000 }, 600_000],
])('takes the time limit of the request %o', (options, timeoutMs) => {
  expect(readPasskeyRequest(request(options))).toEqual({ options, timeoutMs });
});

test.each([
  ['no options', { tag: 'notification', attrs: {} }],
  ['no JSON', request('{')],
  ['no object', request('null')],
  ['no challenge', request({ rpId: 'whatsapp.com' })],
  ['no relying party', request({ challenge: 'AAAA' })],
  ['another relying party', request({ ...OPTIONS, rpId: 'web.whatsapp.com' })],
  ['too much', request({ ...OPTIONS, more: 'x'.repeat(8_192) })],
])('does not understand a request with %s', (_, node) => {
  expect(readPasskeyRequest(node)).toBeNull();
});

test.each([
  ['no identity', { tag: 'notification', attrs: {} }],
  ['no message', stanza('primary_ephemeral_identity', Buffer.from([0xff]))],
  ['a short key', identity(31, 32)],
  ['a short nonce', identity(32, 31)],
])('does not understand a continuation with %s', (_, node) => {
  expect(readPhoneIdentity(node)).toBeNull();
});

function identity(publicKey: number, nonce: number): BinaryNode {
  const bytes = { publicKey: Buffer.alloc(publicKey, 1), nonce: Buffer.alloc(nonce, 2) };
  return stanza('primary_ephemeral_identity', proto.PrimaryEphemeralIdentity.encode(bytes).finish());
}

test('reads the key and the nonce of the phone', () => {
  expect(readPhoneIdentity(identity(32, 32))).toMatchObject({
    publicKey: Buffer.alloc(32, 1),
    nonce: Buffer.alloc(32, 2),
  });
});

test('derives a code of 40 bits from both nonces', () => {
  const phone = { publicKey: Buffer.alloc(32, 1), nonce: Buffer.alloc(32) };
  const digest = createHash('sha256').update(Buffer.alloc(32, 3)).update(phone.publicKey).digest();
  phone.nonce.set(digest.subarray(0, 5));
  // Equal bytes cancel out: all bits are zero.
  expect(deriveCode(Buffer.alloc(32, 3), phone)).toBe('1111-1111');
  phone.nonce[0]! ^= 0xff;
  expect(deriveCode(Buffer.alloc(32, 3), phone)).toBe('ZW11-1111');
  expect(deriveCode(Buffer.alloc(32, 4), phone)).not.toBe('ZW11-1111');
});

test('proves the hand-off with the secret of the scanned code', () => {
  const key = deriveHandoffKey(Buffer.alloc(32, 7));
  // Computed with Python's hashlib and hmac.
  expect(key.toString('hex')).toBe('08394a9f343940c616a3d159080bc72181790f40ca6acdaa574857aef16e59b8');
  expect(proveHandoff(key, Buffer.from('prologue')).toString('hex')).toBe(
    '7dde86cdf000469ce2b7b03ebab22502135420a7878566206df1ff0a9f8dffb5',
  );
});

test('commits to the nonce, and encrypts the keys for the phone alone', () => {
  const own = Curve.generateKeyPair();
  const phone = Curve.generateKeyPair();
  const companion = { deviceType: proto.DeviceProps.PlatformType.CHROME, ref: 'ref' };
  const nonce = Buffer.alloc(32, 5);
  const prologue = proto.ProloguePayload.decode(
    buildPrologue({ ...companion, publicKey: own.public }, nonce),
  );
  const shown = Buffer.from(prologue.companionEphemeralIdentity!);
  expect(proto.CompanionEphemeralIdentity.decode(shown)).toMatchObject({
    ...companion,
    publicKey: own.public,
  });
  const hash = createHash('sha256').update(shown).update(nonce).digest();
  expect(Buffer.from(prologue.commitment!.hash!)).toEqual(hash);

  const request = {
    companionPublicKey: Buffer.alloc(32, 1),
    companionIdentityKey: Buffer.alloc(32, 2),
    advSecret: Buffer.alloc(32, 3),
  };
  const keys = {
    privateKey: own.private,
    phone: { publicKey: phone.public, nonce },
    iv: Buffer.alloc(12, 4),
  };
  const bytes = encryptPairingRequest(request, { ...companion, ...keys });
  const { encryptedPayload, iv } = proto.EncryptedPairingRequest.decode(bytes);
  const decrypt = (key: Uint8Array) =>
    aesDecryptGCM(Buffer.from(encryptedPayload!), key, Buffer.from(iv!), Buffer.alloc(0));
  expect(() => decrypt(Buffer.alloc(32))).toThrow();
  expect(Buffer.from(encryptedPayload!).includes(request.advSecret)).toBe(false);
});
