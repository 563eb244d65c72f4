import { describe, expect, it } from '@jest/globals';
import { makeKeyPair, sign, verified } from './keys.js';

describe('a signature', () => {
  const key = makeKeyPair();
  const message = Buffer.from('what is signed');

  it('of the key is verified, whatever the message', () => {
    for (let length = 1; length < 20; length++) {
      const long = Buffer.alloc(length * 7, length);
      expect(verified(key.public, long, sign(key, long))).toBe(true);
    }
  });

  it('of another key, of another message or with a changed bit is not', () => {
    const signature = sign(key, message);
    expect(verified(makeKeyPair().public, message, signature)).toBe(false);
    expect(verified(key.public, Buffer.from('what is not'), signature)).toBe(false);
    for (const position of [0, 31, 32, 63]) {
      const changed = Buffer.from(signature);
      changed.writeUInt8(changed.readUInt8(position) ^ 1, position);
      expect(verified(key.public, message, changed)).toBe(false);
    }
  });

  it('of the wrong length is not', () => {
    expect(verified(key.public, message, Buffer.alloc(10))).toBe(false);
  });
});
