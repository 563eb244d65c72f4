/**
 * Caches encoded values by the name of their entry; `null` means known to be absent. The least recently used value is
 * evicted first. The cache only holds values that the store has.
 */
export class SessionCache {
  readonly #values = new Map<string, Buffer | null>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Undefined: not cached. */
  get(name: string): Buffer | null | undefined {
    const value = this.#values.get(name);
    if (value === undefined) return undefined;
    this.#values.delete(name);
    this.#values.set(name, value);
    return value;
  }

  put(name: string, value: Buffer | null): void {
    this.#drop(name);
    this.#values.set(name, value && copyBuffer(value));
    this.#bytes += estimateBytes(name, value);
    for (const oldest of this.#values.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#drop(oldest);
    }
  }

  #drop(name: string): void {
    const value = this.#values.get(name);
    if (value === undefined) return;
    this.#values.delete(name);
    this.#bytes -= estimateBytes(name, value);
  }
}

const ENTRY_BYTES = 300;

/** Small buffers are slices of larger ones, which a cached slice would keep: 8 kB for a key of 100 bytes. */
function copyBuffer(value: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(value.length);
  value.copy(copy);
  return copy;
}

const estimateBytes = (name: string, value: Buffer | null): number =>
  ENTRY_BYTES + name.length + (value?.length ?? 0);
