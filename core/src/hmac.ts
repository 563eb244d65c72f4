import { hash } from 'node:crypto';

const BLOCK = 64;
const DIGEST = 32;
const [INNER, OUTER] = [0x36, 0x5c];
const TEXT_CAPACITY = 8_192;
/** Maximum length of a UTF-16 code unit in UTF-8. */
const MAX_UTF8_BYTES = 3;

/** Input buffers of the inner and the outer digest. All keys share them, because `digest` is synchronous. */
const innerInput = Buffer.alloc(BLOCK + TEXT_CAPACITY);
const outerInput = Buffer.alloc(BLOCK + DIGEST);

/**
 * HMAC-SHA256 (RFC 2104) of many short texts with one key: two calls of `hash` from node:crypto. `createHmac` creates
 * an object for each text. The API computes two HMACs per message: they took 10 us of 80 us CPU time with `createHmac`,
 * and take 5 us this way.
 */
export class HmacSha256 {
  readonly #inner = Buffer.alloc(BLOCK, INNER);
  readonly #outer = Buffer.alloc(BLOCK, OUTER);

  /** @throws RangeError for keys over 64 bytes, which RFC 2104 would hash first */
  constructor(key: Uint8Array) {
    if (key.length > BLOCK) throw new RangeError('the HMAC-SHA256 key has more than 64 bytes');
    key.forEach((byte, i) => {
      this.#inner[i]! ^= byte;
      this.#outer[i]! ^= byte;
    });
  }

  digest(text: string): Buffer {
    outerInput.set(this.#outer);
    outerInput.write(hash('sha256', this.#keyed(text), 'binary'), BLOCK, 'binary');
    return Buffer.from(hash('sha256', outerInput, 'binary'), 'latin1');
  }

  #keyed(text: string): Buffer {
    if (text.length * MAX_UTF8_BYTES > TEXT_CAPACITY) return Buffer.concat([this.#inner, Buffer.from(text)]);
    innerInput.set(this.#inner);
    return innerInput.subarray(0, BLOCK + innerInput.write(text, BLOCK));
  }
}
