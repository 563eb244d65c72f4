import type { SignalDataSet, SignalDataTypeMap, SignalKeyStore } from '@whiskeysockets/baileys';
import type { SessionEntry } from '@gwk/core/protocol/engine';
import type { RemoteSessionStore as Remote } from '../../driver.js';
import { decodeValue, encodeValue } from './codec.js';
import { KeyedLock } from './keyed-lock.js';
import { SessionCache } from './cache.js';
import { BatchWriter } from './batch-writer.js';

export type KeyType = keyof SignalDataTypeMap;
/** By type and key; null removes. */
export type Values = Record<string, Record<string, unknown>>;

const CACHE_BYTES = 8_000_000;
/** By the protocol of the port. Strangers choose some of them: ids of messages, names of groups. */
const MAX_KEY = 500;

/**
 * The session of one number: read through the working set, written durably before it counts. What is being written
 * is already read by others of this process (they may build on it, since writes are stored in order), and nobody
 * else writes: one engine owns the number.
 */
export class SessionStore implements SignalKeyStore {
  /** Of those who change what they have read: a connection that ends may still be at it when the next one begins. */
  readonly locks = new KeyedLock();
  readonly #remote: Remote;
  readonly #writer: BatchWriter;
  readonly #cache = new SessionCache(CACHE_BYTES);
  /** Not stored yet, so not to be forgotten; with how many writes still carry each. */
  readonly #writing = new Map<string, { value: Buffer | null; writes: number }>();
  readonly #onLost: (error: unknown) => void;
  #isLost = false;

  /** @param lost a write failed for good: what is in memory is not what is stored, and nothing may leave any more */
  constructor(remote: Remote, lost: (error: unknown) => void) {
    this.#remote = remote;
    this.#onLost = lost;
    this.#writer = new BatchWriter((entries) => remote.write(entries));
  }

  async get<T extends KeyType>(type: T, keys: string[]): Promise<{ [key: string]: SignalDataTypeMap[T] }> {
    return (await this.read(type, keys)) as { [key: string]: SignalDataTypeMap[T] };
  }

  set(data: SignalDataSet): Promise<void> {
    return this.write(data);
  }

  /** Each value is the caller's own, to change as they like. Absent keys are absent, as are those that none can be. */
  async read(type: string, keys: string[]): Promise<Record<string, unknown>> {
    const missing = keys.filter((key) => key.length <= MAX_KEY && this.#findKnown(type, key) === undefined);
    const fetched = missing.length > 0 ? await this.#fetch(type, missing) : undefined;
    const values: Record<string, unknown> = {};
    for (const key of keys) {
      // Not from the working set alone, which may have let go of it again.
      const bytes = this.#findKnown(type, key) ?? fetched?.get(key);
      if (bytes) values[key] = decodeValue(type, bytes);
    }
    return values;
  }

  /** Everything of a type, past the working set. */
  async readAll(type: string): Promise<Record<string, unknown>> {
    const entries = await this.#remote.read(type, null);
    return Object.fromEntries(
      entries
        .filter((entry) => entry.type === type && entry.value !== null)
        .map(({ key, value }) => [key, decodeValue(type, Buffer.from(value!, 'base64'))]),
    );
  }

  /**
   * Resolves once stored. What would change nothing is not written. A key that the port would refuse fails by itself, and
   * nothing is lost for it.
   */
  async write(values: Values): Promise<void> {
    if (Object.values(values).some((ofType) => Object.keys(ofType).some(({ length }) => length > MAX_KEY)))
      throw new Error('a key of the session is too long');
    const changed = toChanges(values).filter(
      ({ type, key, bytes }) => !isSame(this.#findKnown(type, key), bytes) || this.#isWriting(type, key),
    );
    for (const { type, key, bytes } of changed) this.#beginWrite(type, key, bytes);
    try {
      await this.#writer.write(changed.map(toEntry));
    } catch (error) {
      if (!this.#isLost) {
        this.#isLost = true;
        this.#onLost(error);
      }
      throw error;
    }
    for (const { type, key } of changed) this.#endWrite(type, key);
  }

  #findKnown(type: string, key: string): Buffer | null | undefined {
    const writing = this.#writing.get(toEntryName(type, key));
    return writing ? writing.value : this.#cache.get(type, key);
  }

  #isWriting(type: string, key: string): boolean {
    return this.#writing.has(toEntryName(type, key));
  }

  async #fetch(type: string, keys: string[]): Promise<Map<string, Buffer>> {
    const found = new Map<string, Buffer>();
    for (const entry of await this.#remote.read(type, keys)) {
      if (entry.type === type && entry.value !== null)
        found.set(entry.key, Buffer.from(entry.value, 'base64'));
    }
    for (const key of keys) {
      // Written meanwhile: what was fetched is older.
      if (this.#findKnown(type, key) !== undefined) found.delete(key);
      else this.#cache.put(type, key, found.get(key) ?? null);
    }
    return found;
  }

  #beginWrite(type: string, key: string, value: Buffer | null): void {
    const name = toEntryName(type, key);
    const writes = (this.#writing.get(name)?.writes ?? 0) + 1;
    this.#writing.set(name, { value, writes });
  }

  #endWrite(type: string, key: string): void {
    const name = toEntryName(type, key);
    const writing = this.#writing.get(name);
    if (!writing) return;
    writing.writes -= 1;
    if (writing.writes > 0) return;
    this.#writing.delete(name);
    this.#cache.put(type, key, writing.value);
  }
}

interface Change {
  type: string;
  key: string;
  bytes: Buffer | null;
}

const toEntryName = (type: string, key: string): string => `${type} ${key}`;

function toChanges(values: Values): Change[] {
  return Object.entries(values).flatMap(([type, ofType]) =>
    Object.entries(ofType).map(([key, value]) => ({
      type,
      key,
      bytes: value === null || value === undefined ? null : encodeValue(type, value),
    })),
  );
}

function isSame(known: Buffer | null | undefined, bytes: Buffer | null): boolean {
  if (known === undefined) return false;
  return known === null || bytes === null ? known === bytes : known.equals(bytes);
}

const toEntry = ({ type, key, bytes }: Change): SessionEntry => ({
  type,
  key,
  value: bytes?.toString('base64') ?? null,
});
