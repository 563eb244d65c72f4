import { randomBytes } from 'node:crypto';
import { FreshModules, requireFresh } from '@gwk/test/support/engine/fresh-modules';
import {
  createNativeCrypto,
  createNativeVerify,
  type LibsignalCrypto,
  type LibsignalCurve,
} from './native-crypto.js';

type Curve = LibsignalCurve & {
  generateKeyPair: () => { pubKey: Buffer; privKey: Buffer };
  calculateSignature: (key: Buffer, message: Buffer) => Buffer;
};

/** Stock libsignal. */
const stockCurve = requireFresh<Curve>('libsignal/src/curve.js');
const stock = requireFresh<LibsignalCrypto>('libsignal/src/crypto.js');
const native = createNativeCrypto(stock);
const verifies = createNativeVerify(stockCurve.verifySignature);

/** The result of the work, or its error. */
function outcome(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return (error as Error).message;
  }
}

describe('signatures', () => {
  const { pubKey, privKey } = stockCurve.generateKeyPair();
  const other = stockCurve.generateKeyPair().pubKey;
  const message = randomBytes(100);
  const changed = (bytes: Buffer, at: number): Buffer => {
    const copy = Buffer.from(bytes);
    copy[at]! ^= 1;
    return copy;
  };

  test('are accepted with either sign of the key', () => {
    for (let n = 0; n < 12; n++) {
      const pair = stockCurve.generateKeyPair();
      const signature = stockCurve.calculateSignature(pair.privKey, message);
      expect(verifies(pair.pubKey, message, signature)).toBe(true);
      expect(verifies(pair.pubKey, message, signature)).toBe(true);
    }
  });

  const signature = stockCurve.calculateSignature(privKey, message);
  test.each<[string, Parameters<LibsignalCurve['verifySignature']>]>([
    ['a good one', [pubKey, message, signature]],
    [
      'a valid one of an empty message',
      [pubKey, Buffer.alloc(0), stockCurve.calculateSignature(privKey, Buffer.alloc(0))],
    ],
    ['a key without its type', [pubKey.subarray(1), message, signature]],
    ['the key of another', [other, message, signature]],
    ['a key of the other sign', [pubKey, message, changed(signature, 63)]],
    ['another message', [pubKey, changed(message, 5), signature]],
    ['a changed first half', [pubKey, message, changed(signature, 3)]],
    ['a changed second half', [pubKey, message, changed(signature, 40)]],
    ['a key of nothing', [Buffer.alloc(33, 0).fill(5, 0, 1), message, signature]],
    ['a signature of nothing', [pubKey, message, Buffer.alloc(64)]],
    ['a signature of ones', [pubKey, message, Buffer.alloc(64, 255)]],
    ['a short signature', [pubKey, message, signature.subarray(1)]],
    ['a short key', [pubKey.subarray(2), message, signature]],
    ['no message', [pubKey, undefined as unknown as Buffer, signature]],
    ['a signature that need not be verified', [pubKey, message, Buffer.alloc(64), true]],
  ])('are judged alike: %s', (_what, given) => {
    const error = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    expect(outcome(() => verifies(...given))).toEqual(outcome(() => stockCurve.verifySignature(...given)));
    error.mockRestore();
  });
});

describe('MACs and keys', () => {
  const [key, data, iv] = [randomBytes(32), randomBytes(100), randomBytes(16)];
  const bytes = new Uint8Array(data) as Buffer;
  const mac = stock.calculateMAC(key, data);
  const encrypted = stock.encrypt(key, data, iv);
  const cases: [string, (by: LibsignalCrypto) => unknown][] = [
    ['a code', (by) => by.calculateMAC(key, data)],
    ['a code with an empty key', (by) => by.calculateMAC(Buffer.alloc(0), data)],
    ['a MAC of non-buffers', (by) => by.calculateMAC(key, bytes)],
    ['a right code', (by) => by.verifyMAC(data, key, mac.subarray(0, 8), 8)],
    ['a wrong code', (by) => by.verifyMAC(data, key, Buffer.alloc(8), 8)],
    ['a code of another length', (by) => by.verifyMAC(data, key, mac, 8)],
    ['a key derived in one piece', (by) => by.deriveSecrets(key, randomLike(32), data, 1)],
    ['two', (by) => by.deriveSecrets(key, randomLike(32), data, 2)],
    ['three', (by) => by.deriveSecrets(key, randomLike(32), Buffer.from('WhisperMessageKeys'))],
    ['three without info', (by) => by.deriveSecrets(key, Buffer.alloc(32), Buffer.alloc(0))],
    ['four', (by) => by.deriveSecrets(key, Buffer.alloc(32), data, 4)],
    ['keys with short salt', (by) => by.deriveSecrets(key, Buffer.alloc(3), data)],
    ['encrypted data', (by) => by.encrypt(key, data, iv)],
    ['data encrypted with a short key', (by) => by.encrypt(key.subarray(1), data, iv)],
    ['decrypted data', (by) => by.decrypt(key, encrypted, iv)],
    ['data decrypted with another key', (by) => by.decrypt(Buffer.alloc(32), encrypted, iv)],
    ['truncated data', (by) => by.decrypt(key, encrypted.subarray(1), iv)],
    ['data that is no buffer', (by) => by.decrypt(key, bytes, iv)],
  ];
  const randomLike = (length: number): Buffer => Buffer.alloc(length, 7);

  test.each(cases)('are the same as those of libsignal: %s', (_what, by) => {
    expect(outcome(() => by(native))).toEqual(outcome(() => by(stock)));
  });
});

test('libsignal and Baileys use them when they are imported first', async () => {
  const engine = new FreshModules();
  await engine.load(new URL('./native-crypto.ts', import.meta.url).href);
  const taken = await engine.load<Curve & { default: Curve }>('libsignal/src/curve.js');
  expect(String(taken.verifySignature)).toBe(String(verifies));
  expect(taken.verifySignature).toBe(taken.default.verifySignature);
  expect(String(stockCurve.verifySignature)).not.toBe(String(verifies));
});
