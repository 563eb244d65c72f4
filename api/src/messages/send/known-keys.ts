import { randomInt } from 'node:crypto';

/**
 * What became of the keys that were used lately: which message each made, and by which body. All of it lies in one stretch
 * of bytes that is written over: objects for each message would live just long enough to grow old, and V8 would search
 * them again and again.
 *
 * The places are in sets, and each key belongs to one of them by its id; a new key takes the place of its set's oldest. So
 * keys are forgotten one at a time: one in a thousand of those after which a quarter of `capacity` came, half of those
 * after which all of it did. Which keys share a set is drawn anew by each process: whoever could work it out would send
 * nine of one set in a circle, and each of them had to be written twice, with all of its group.
 */
const WAYS = 8;
const [ID_WORDS, BODY_WORDS, MESSAGE_WORDS] = [4, 4, 9];
const WORDS = ID_WORDS + BODY_WORDS + MESSAGE_WORDS;
const [ID_BYTES, BODY_BYTES, MESSAGE_BYTES] = [ID_WORDS * 4, BODY_WORDS * 4, MESSAGE_WORDS * 4];

export class KnownKeys {
  /** Odd numbers by which the words of an id are multiplied, and by how many bits the sum is too long for a set. */
  readonly #factors = Uint32Array.from({ length: ID_WORDS }, () => randomInt(2 ** 31) * 2 + 1);
  readonly #shift: number;
  readonly #words: Uint32Array;
  readonly #bytes: Buffer;
  /** Of each set the place that is taken next. */
  readonly #oldest: Uint8Array;
  readonly #id = new Uint32Array(ID_WORDS);
  readonly #idBytes = Buffer.from(this.#id.buffer);

  /** `capacity`: a power of two, of 16 or more. */
  constructor(capacity: number) {
    const bits = Math.log2(capacity / WAYS);
    if (!Number.isInteger(bits) || bits < 1) throw new RangeError('no power of two, or below 16');
    this.#shift = 32 - bits;
    this.#words = new Uint32Array(capacity * WORDS);
    this.#bytes = Buffer.from(this.#words.buffer);
    this.#oldest = new Uint8Array(capacity / WAYS);
  }

  /** @returns whether the key was not known; from now on it is */
  meet(recordId: string): boolean {
    if (this.#find(recordId) >= 0) return false;
    const set = this.#setOfId();
    const way = this.#oldest[set]!;
    this.#oldest[set] = (way + 1) % WAYS;
    const at = (set * WAYS + way) * WORDS;
    this.#words.set(this.#id, at);
    this.#words[at + ID_WORDS + BODY_WORDS] = 0;
    return true;
  }

  /** Of a key that was forgotten meanwhile nothing is learned. */
  learn(recordId: string, bodyHash: Buffer, messageId: string): void {
    const at = this.#find(recordId);
    if (at < 0) return;
    const body = (at + ID_WORDS) * 4;
    bodyHash.copy(this.#bytes, body, 0, BODY_BYTES);
    this.#bytes.write(messageId, body + BODY_BYTES, MESSAGE_BYTES, 'latin1');
  }

  /** The message that it made by the same body; null where it made none yet, or by another body, or is not known. */
  messageOf(recordId: string, bodyHash: Buffer): string | null {
    const at = this.#find(recordId);
    if (at < 0 || this.#words[at + ID_WORDS + BODY_WORDS] === 0) return null;
    const body = (at + ID_WORDS) * 4;
    const message = body + BODY_BYTES;
    if (bodyHash.compare(this.#bytes, body, message) !== 0) return null;
    return this.#bytes.toString('latin1', message, message + MESSAGE_BYTES);
  }

  /** Leaves the id in `#id`. */
  #find(recordId: string): number {
    this.#idBytes.write(recordId, 0, ID_BYTES, 'hex');
    const [words, id] = [this.#words, this.#id];
    const first = this.#setOfId() * WAYS * WORDS;
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

  #setOfId(): number {
    let sum = 0;
    for (let word = 0; word < ID_WORDS; word++) sum += Math.imul(this.#id[word]!, this.#factors[word]!);
    return (sum | 0) >>> this.#shift;
  }
}
