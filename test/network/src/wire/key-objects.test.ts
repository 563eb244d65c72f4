import crypto, * as named from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { passKeyObjects } from './key-objects.js';

const { createHmac, createCipheriv, createDecipheriv } = crypto;
const STOCK = { createHmac, createCipheriv, createDecipheriv };
const KEY = crypto.randomBytes(32);
const IV = crypto.randomBytes(12);

beforeAll(passKeyObjects);
// Other tests share this process.
afterAll(() => {
  Object.assign(crypto, STOCK);
  syncBuiltinESMExports();
});

test.each([
  ['bytes', KEY],
  ['other bytes', new Uint8Array(KEY)],
  ['a key object', crypto.createSecretKey(KEY)],
])('codes and ciphers are the same for %s', (_kind, key) => {
  const code = STOCK.createHmac('sha256', KEY).update('text').digest('hex');
  expect(named.createHmac('sha256', key).update('text').digest('hex')).toBe(code);
  const sealed = named.createCipheriv('aes-256-gcm', key, IV).update('text');
  expect(sealed).toEqual(STOCK.createCipheriv('aes-256-gcm', KEY, IV).update('text'));
  expect(named.createDecipheriv('aes-256-gcm', key, IV).update(sealed).toString()).toBe('text');
});

test('a key of the wrong length is refused', () => {
  expect(() => named.createCipheriv('aes-256-gcm', KEY.subarray(1), IV)).toThrow('Invalid key length');
});

// If Node takes bytes as fast, the file can go.
test('a code for a key in bytes is made faster than by Node alone', () => {
  const timeOf = (create: typeof createHmac): number =>
    Math.min(
      ...Array.from({ length: 200 }, () => {
        const from = performance.now();
        create('sha256', KEY);
        return performance.now() - from;
      }),
    );
  expect(timeOf(STOCK.createHmac)).toBeGreaterThan(1.5 * timeOf(named.createHmac));
});
