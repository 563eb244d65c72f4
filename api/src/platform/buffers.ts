import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMarkedAsUntransferable } from 'node:worker_threads';

/** Bytes between two collections. */
const INTERVAL_BYTES = 4 * 1024 * 1024;

type Collect = (options: { type: 'minor' }) => void;
let collect: Collect | undefined;

function loadCollector(): Collect {
  setFlagsFromString('--expose-gc');
  const found = runInNewContext('gc') as Collect;
  setFlagsFromString('--no-expose-gc');
  return found;
}

/**
 * Frees the memory of a buffer that nobody uses any more. V8 counts buffers of streams as old once they outlive two minor
 * collections, and then frees them only after 64 MB. Keeps a buffer that shares its memory with others. Node marks the memory
 * that small buffers share.
 */
export function freeBuffer({ buffer, length }: Buffer): void {
  if (length !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  if (!isMarkedAsUntransferable(buffer)) buffer.transfer(0);
}

let streamed = 0;

/**
 * Runs a minor garbage collection (1 to 2 ms) after every 4 MB of streamed data. Buffers are outside V8's heap, so V8 alone
 * frees streamed buffers only after about 64 MB.
 */
export function countStreamed(bytes: number): void {
  streamed += bytes;
  if (streamed < INTERVAL_BYTES) return;
  streamed = 0;
  (collect ??= loadCollector())({ type: 'minor' });
}

interface Waiting {
  owner: string;
  isFirst: boolean;
  start: () => void;
}

/**
 * Lends equal buffers, at most `count` at once. `kept` of them stay allocated; fewer than `count` only if nothing uses a buffer
 * after its work, for example a request that failed. The owner with the fewest buffers is next, and of its
 * work that which has not had a buffer yet.
 */
export class BufferPool {
  readonly #idle: Buffer[] = [];
  /** Buffers that an owner has now. */
  readonly #lent = new Map<string, number>();
  readonly #waiting: Waiting[] = [];
  #left: number;

  constructor(
    count: number,
    readonly bytes: number,
    private readonly kept = count,
  ) {
    this.#left = count;
  }

  /** Whether somebody waits for a buffer. */
  get isAwaited(): boolean {
    return this.#waiting.length > 0;
  }

  async use<T>(owner: string, work: (buffer: Buffer) => Promise<T>, isFirst = false): Promise<T> {
    await new Promise<void>((start) => {
      this.#waiting.push({ owner, isFirst, start });
      this.#startNext();
    });
    let buffer: Buffer | undefined;
    try {
      buffer = this.#idle.pop() ?? Buffer.allocUnsafeSlow(this.bytes);
      return await work(buffer);
    } finally {
      if (buffer) this.#keep(buffer);
      this.#release(owner);
      this.#startNext();
    }
  }

  #keep(buffer: Buffer): void {
    if (this.isAwaited || this.#idle.length < this.kept) this.#idle.push(buffer);
    else freeBuffer(buffer);
  }

  #startNext(): void {
    if (this.#left === 0 || this.#waiting.length === 0) return;
    const ranks = this.#waiting.map(
      ({ owner, isFirst }) => (this.#lent.get(owner) ?? 0) + (isFirst ? 0 : 0.5),
    );
    const [{ owner, start }] = this.#waiting.splice(ranks.indexOf(Math.min(...ranks)), 1) as [Waiting];
    this.#lent.set(owner, (this.#lent.get(owner) ?? 0) + 1);
    this.#left--;
    start();
  }

  #release(owner: string): void {
    const lent = this.#lent.get(owner)! - 1;
    if (lent > 0) this.#lent.set(owner, lent);
    else this.#lent.delete(owner);
    this.#left++;
  }
}
