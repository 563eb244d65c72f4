import { randomBytes } from 'node:crypto';
import { parseEncryptionKeys, Sealer, SealError } from './encryption.js';

const key = () => randomBytes(32).toString('base64');
const sealerOf = (...keys: string[]) => new Sealer(parseEncryptionKeys(keys.join(',')));

describe('Sealer', () => {
  const first = key();
  const sealer = sealerOf(first);

  test.each([
    ['text', 'olá, mundo'],
    ['an empty text', ''],
    ['64 kB', 'á'.repeat(32_768)],
  ])('decrypts %s', (_name, plain) => {
    expect(sealer.open('ins', 't.c', sealer.seal('ins', 't.c', plain)).toString()).toBe(plain);
  });

  test('decrypts JSON', () => {
    const value = { a: [1, null, 'x'], b: { c: true } };
    expect(sealer.openJson('ins', 't.c', sealer.sealJson('ins', 't.c', value))).toEqual(value);
  });

  test('hides the plain text, and never repeats a ciphertext', () => {
    const a = sealer.seal('ins', 't.c', 'segredo');
    expect(a.includes('segredo')).toBe(false);
    expect(a.equals(sealer.seal('ins', 't.c', 'segredo'))).toBe(false);
  });

  test.each([
    ['another instance', 'other', 't.c'],
    ['another column', 'ins', 't.d'],
  ])('does not decrypt a ciphertext moved to %s', (_name, scope, column) => {
    const sealed = sealer.seal('ins', 't.c', 'x');
    expect(() => sealer.open(scope, column, sealed)).toThrow(SealError);
  });

  test('detects any changed bit', () => {
    const sealed = sealer.seal('ins', 't.c', 'hello');
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed);
      changed[i]! ^= 1;
      expect(() => sealer.open('ins', 't.c', changed)).toThrow(SealError);
    }
    expect(() => sealer.open('ins', 't.c', sealed.subarray(0, 20))).toThrow(SealError);
  });

  test('encrypts with the new key after a rotation, and still decrypts with the old one', () => {
    const old = sealer.seal('ins', 't.c', 'x');
    const rotated = sealerOf(key(), first);
    expect(rotated.open('ins', 't.c', old).toString()).toBe('x');
    const fresh = rotated.seal('ins', 't.c', 'y');
    expect(() => sealer.open('ins', 't.c', fresh)).toThrow(/not configured/);
  });

  test('gives equal fingerprints only for equal values, scopes and purposes', () => {
    const print = sealer.fingerprint('ins', 'p', 'v');
    expect(print.equals(sealer.fingerprint('ins', 'p', 'v'))).toBe(true);
    expect(print.equals(sealer.fingerprint('ins', 'q', 'v'))).toBe(false);
    expect(print.equals(sealer.fingerprint('other', 'p', 'v'))).toBe(false);
    expect(print.equals(sealerOf(key()).fingerprint('ins', 'p', 'v'))).toBe(false);
  });
});

describe('parseEncryptionKeys', () => {
  test.each([
    ['a short key', Buffer.alloc(31).toString('base64')],
    ['no key', ' , '],
  ])('rejects %s', (_name, text) => {
    expect(() => parseEncryptionKeys(text)).toThrow(SealError);
  });
});
