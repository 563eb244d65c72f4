/** The subset of DER (X.690) that a certificate needs. */
type Der = Buffer;

function tagged(tag: number, ...parts: Der[]): Der {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), encodeLength(body.length), body]);
}

function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = length > 0xff ? [length >> 8, length & 0xff] : [length];
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

export const sequence = (...parts: Der[]): Der => tagged(0x30, ...parts);
export const set = (...parts: Der[]): Der => tagged(0x31, ...parts);
export const octets = (bytes: Buffer): Der => tagged(0x04, bytes);
export const text = (value: string): Der => tagged(0x0c, Buffer.from(value, 'utf8'));
export const trueValue = (): Der => tagged(0x01, Buffer.from([0xff]));
export const explicit = (number: number, ...parts: Der[]): Der => tagged(0xa0 | number, ...parts);
export const implicit = (number: number, bytes: Buffer): Der => tagged(0x80 | number, bytes);

/** @param unused number of unused bits at the end */
export const bits = (bytes: Buffer, unused = 0): Der => tagged(0x03, Buffer.from([unused]), bytes);

/** Encodes a non-negative integer. */
export function integer(bytes: Buffer): Der {
  const from = bytes.findIndex((byte) => byte !== 0);
  const short = from === -1 ? Buffer.from([0]) : bytes.subarray(from);
  // A leading 1 bit would make it negative.
  return short[0]! & 0x80 ? tagged(0x02, Buffer.from([0]), short) : tagged(0x02, short);
}

export function oid(dotted: string): Der {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return tagged(0x06, Buffer.from([40 * first + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = value >> 7; left > 0; left >>= 7) digits.unshift(0x80 | (left & 0x7f));
  return digits;
}

/** Encodes a time in seconds; before 2050 as UTCTime, as RFC 5280 requires. */
export function time(at: Date): Der {
  const digits = at
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:T]/g, '');
  return at.getUTCFullYear() < 2050
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits));
}
