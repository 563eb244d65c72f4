import { cost } from '@gwk/test/support/hostile-texts';
import { findUnknownContent } from './unknown-fields.js';

/** A message in a wrapper (field 40, known), encoded. */
function wrap(message: Uint8Array): Buffer {
  const inner = Buffer.concat([Buffer.from([0x0a]), toVarint(message.length), message]);
  return Buffer.concat([Buffer.from([0xc2, 0x02]), toVarint(inner.length), inner]);
}

function toVarint(value: number): Buffer {
  const bytes = [];
  for (let left = value; ; left >>>= 7) {
    if (left < 0x80) return Buffer.from([...bytes, left]);
    bytes.push((left & 0x7f) | 0x80);
  }
}

test('reads wrappers with many wrappers in each of them in time', () => {
  const many = (message: Uint8Array): Buffer => Buffer.concat(Array<Buffer>(60).fill(wrap(message)));
  const hostile = many(many(many(Buffer.alloc(0))));
  expect(hostile.length).toBeGreaterThan(1_000_000);
  expect(cost(() => findUnknownContent(hostile))).toBeLessThan(100);
});
