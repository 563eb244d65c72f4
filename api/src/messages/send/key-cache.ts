import { randomInt } from 'node:crypto';

const WAYS = 8;
const [ID_WORDS, BODY_WORDS, MESSAGE_WORDS] = [4, 4, 9];
const WORDS = ID_WORDS + BODY_WORDS + MESSAGE_WORDS;
const [ID_BYTES, BODY_BYTES, MESSAGE_BYTES] = [ID_WORDS * 4, BODY_WORDS * 4, MESSAGE_WORDS * 4];

/**
 * Body and message of recently used idempotency keys. All entries share one buffer, because V8 would promote an object
 * for each message to its old generation.
 *
 * A key belongs to one set and replaces the oldest of its 8 entries. One key in a thousand is forgotten after
 * `capacity / 4` newer keys, half of them after `capacity`. Random hash factors keep a client from choosing keys that
 * evict each other.
 */
export class KeyCache {
  /** Multiply-shift hash: an odd factor for each word of the id, and the bits to drop from the sum. */
  readonly #factors = Uint32Array.from({ length: ID_WORDS }, () => randomInt(2 ** 31) * 2 + 1);
  readonly #shift: number;
  readonly #words: Uint32Array;
  readonly #bytes: Buffer;
  /** For each set, the entry to replace next. */
  readonly #oldest: Uint8Array;
  readonly #id = new Uint32Array(ID_WORDS);
  readonly #idBytes = Buffer.from(this.#id.buffer);

  /** @param capacity a power of two, at least 16 */
  constructor(capacity: number) {
    const bits = Math.log2(capacity / WAYS);
    if (!Number.isInteger(bits) || bits < 1) throw new RangeError('capacity is no power of two, or below 16');
    this.#shift = 32 - bits;
    this.#words = new Uint32Array(capacity * WORDS);
    this.#bytes = Buffer.from(this.#words.buffer);
    this.#oldest = new Uint8Array(capacity / WAYS);
  }

  /** @returns false if the key is in the cache already */
  add(recordId: string): boolean {
    if (this.#find(recordId) >= 0) return false;
    const set = this.#hashId();
    const way = this.#oldest[set]!;
    this.#oldest[set] = (way + 1) % WAYS;
    const at = (set * WAYS + way) * WORDS;
    this.#words.set(this.#id, at);
    this.#words[at + ID_WORDS + BODY_WORDS] = 0;
    return true;
  }

  /** Has no effect on a key that was evicted meanwhile. */
  setMessage(recordId: string, bodyHash: Buffer, messageId: string): void {
    const at = this.#find(recordId);
    if (at < 0) return;
    const body = (at + ID_WORDS) * 4;
    bodyHash.copy(this.#bytes, body, 0, BODY_BYTES);
    this.#bytes.write(messageId, body + BODY_BYTES, MESSAGE_BYTES, 'latin1');
  }

  /** Returns null for an unknown key, for a key without a message yet, and for another body. */
  findMessage(recordId: string, bodyHash: Buffer): string | null {
    const at = this.#find(recordId);
    if (at < 0 || this.#words[at + ID_WORDS + BODY_WORDS] === 0) return null;
    const body = (at + ID_WORDS) * 4;
    const message = body + BODY_BYTES;
    if (bodyHash.compare(this.#bytes, body, message) !== 0) return null;
    return this.#bytes.toString('latin1', message, message + MESSAGE_BYTES);
  }

  /** Leaves the binary id in `#id`. */
  #find(recordId: string): number {
    this.#idBytes.write(recordId, 0, ID_BYTES, 'hex');
    const [words, id] = [this.#words, this.#id];
    const first = this.#hashId() * WAYS * WORDS;
    for (let at = first; at < first + WAYS * WORDS; at += WORDS) {
      if (
        words[at] === id[0] &&
        words[at + 1] === id[1] &&
        words[at + 2] === id[2] &&
        words[at + 3] === id[3]
      ) {
        return at;
      }
    }
    return -1;
  }

  /** The set of the key in `#id`. */
  #hashId(): number {
    let sum = 0;
    for (let word = 0; word < ID_WORDS; word++) sum += Math.imul(this.#id[word]!, this.#factors[word]!);
    return (sum | 0) >>> this.#shift;
  }
}
