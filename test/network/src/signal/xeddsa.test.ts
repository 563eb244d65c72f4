import { calculateSignature, generateKeyPair } from 'libsignal/src/curve.js';
import { verifyXeddsa } from './xeddsa.js';

/** Keys and signatures of the library that clients use. The two implementations must agree. */
function makeKey() {
  const { pubKey, privKey } = generateKeyPair();
  return { public: Buffer.from(pubKey).subarray(1), private: Buffer.from(privKey) };
}

const sign = (key: { private: Buffer }, message: Buffer) =>
  Buffer.from(calculateSignature(key.private, message));

describe('a signature', () => {
  const key = makeKey();
  const message = Buffer.from('what is signed');

  it('of the key is valid for any message and key', () => {
    for (let length = 0; length < 4; length++) {
      const long = Buffer.alloc(1 + length * 70, length);
      const other = makeKey();
      expect(verifyXeddsa(key.public, long, sign(key, long))).toBe(true);
      expect(verifyXeddsa(other.public, long, sign(other, long))).toBe(true);
    }
  });

  it('of another key, of another message or with a changed bit is invalid', () => {
    const signature = sign(key, message);
    expect(verifyXeddsa(makeKey().public, message, signature)).toBe(false);
    expect(verifyXeddsa(key.public, Buffer.from('what is not'), signature)).toBe(false);
    for (const position of [0, 31, 32, 63]) {
      const changed = Buffer.from(signature);
      changed.writeUInt8(changed.readUInt8(position) ^ 1, position);
      expect(verifyXeddsa(key.public, message, changed)).toBe(false);
    }
  });

  it('or a key of the wrong length is invalid', () => {
    expect(verifyXeddsa(key.public, message, Buffer.alloc(10))).toBe(false);
    expect(verifyXeddsa(Buffer.alloc(31), message, sign(key, message))).toBe(false);
  });
});
