import { createHmac, randomBytes } from 'node:crypto';
import { HmacSha256 } from './hmac.js';

const ofNode = (key: Uint8Array, text: string) => createHmac('sha256', key).update(text).digest('hex');
const ours = (key: Uint8Array, text: string) => new HmacSha256(key).digest(text).toString('hex');

// RFC 4231, test cases 1 and 2.
test.each([
  [Buffer.alloc(20, 0x0b), 'Hi There', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
  [
    Buffer.from('Jefe'),
    'what do ya want for nothing?',
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  ],
])('matches the test vectors of RFC 4231', (key, text, digest) => {
  expect(ours(key, text)).toBe(digest);
});

test.each(['', 'a', 'ção 💬', 'x'.repeat(2_730), 'x'.repeat(2_731), '💬'.repeat(5_000), '\ud800'])(
  'matches node:crypto for texts of any length (%#)',
  (text) => {
    for (const length of [1, 32, 64]) {
      const key = randomBytes(length);
      expect(ours(key, text)).toBe(ofNode(key, text));
    }
  },
);

test('shares no state between keys or texts', () => {
  const keys = [1, 2].map(() => randomBytes(32));
  const macs = keys.map((key) => new HmacSha256(key));
  for (const text of ['a long text before a short one', 'short', '']) {
    macs.forEach((mac, i) => expect(mac.digest(text).toString('hex')).toBe(ofNode(keys[i]!, text)));
  }
});

test('rejects keys over 64 bytes', () => {
  expect(() => new HmacSha256(Buffer.alloc(65))).toThrow(RangeError);
});
