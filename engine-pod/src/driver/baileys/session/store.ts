import type { SignalDataTypeMap } from '@whiskeysockets/baileys';
import type { SessionEntry } from '@gwk/core/protocol/engine';
import type { RemoteSessionStore as Remote } from '../../driver.js';
import { BatchSender } from '../../../batch-sender.js';
import { decodeValue, encodeValue, SESSION } from './codec.js';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import { KeyedLock } from '@gwk/core/async/keyed-lock';
import { SessionCache } from './cache.js';

export type KeyType = keyof SignalDataTypeMap;
/** Values by type and key; null deletes. */
export type Values = Record<string, Record<string, unknown>>;

const CACHE_BYTES = 8_000_000;
/** Decoded sessions, of the chats in progress. */
const DECODED = { max: 64, ttlMs: 60_000 };
/** A session that a sender has made larger is decoded each time. An ordinary one has about 1 kB. */
const MAX_DECODED_BYTES = 8_000;
/** Limit of the internal API. Strangers choose some keys: message ids and group ids. */
const MAX_KEY = 500;
/** Estimated size of an entry without its value. It keeps a request below the API's limit of 5,000 entries. */
const ENTRY_BYTES = 500;
const BASE64_RATIO = 4 / 3;

/**
 * The session of one instance, read through a cache. A write is durable when it resolves. Values being written are
 * visible to other readers of this process at once, because writes keep their order. Nobody else writes: one engine
 * owns the session.
 *
 *     signal-repository.ts     Baileys' encryption and decryption, with guarantees added
 *       │                      (patches/session-migration.ts: from the phone number to the LID)
 *       ▼
 *     signal-transactions.ts   all changes of one step, under a KeyedLock
 *       │
 *       │    credentials.ts, patches/conversation-transactions.ts, receive/ (journal, message secrets, missing messages)
 *       ▼    ▼
 *     store.ts ─▶ codec.ts     values to bytes
 *       ├─▶ cache.ts           values read or written recently
 *       └─▶ internal API       writes in batches, one request at a time
 */
export class SessionStore {
  /** Locks for readers that change what they read. A closing connection may still hold one when the next begins. */
  readonly locks = new KeyedLock();
  readonly #remote: Remote;
  readonly #onLost: (error: unknown) => void;
  readonly #cache = new SessionCache(CACHE_BYTES);
  /**
   * Sessions as last read or written: the steps of one text read each of its two sessions three times. Baileys and
   * libsignal make a record of their own from what they read, and write a new value.
   */
  readonly #decoded = new ExpiringMap<unknown>(DECODED);
  /** Changes that are not stored yet and must not be evicted; the latest one of each entry. */
  readonly #writing = new Map<string, KeyChange>();
  /** The entries of one write are never split. */
  readonly #sender = new BatchSender<KeyChange[], void>({
    maxItems: Infinity,
    estimateBytes: (changes) =>
      changes.reduce((sum, { bytes }) => sum + ENTRY_BYTES + (bytes?.length ?? 0) * BASE64_RATIO, 0),
    send: (writes) => this.#send(writes),
  });
  /** Rejects after a failure, so that nothing more is written: later writes may depend on the lost ones. */
  #stored: Promise<void> = Promise.resolve();

  /**
   * @param onLost called when a write failed for good: memory does not match the store, and nothing may leave any
   * more
   */
  constructor(remote: Remote, onLost: (error: unknown) => void) {
    this.#remote = remote;
    this.#onLost = onLost;
  }

  async get<T extends KeyType>(type: T, keys: string[]): Promise<{ [key: string]: SignalDataTypeMap[T] }> {
    return (await this.read(type, keys)) as { [key: string]: SignalDataTypeMap[T] };
  }

  /**
   * Each value is the caller's own copy, except sessions, which nobody may change. Absent keys, and keys that are too long
   * to exist, are left out.
   */
  async read(type: string, keys: string[]): Promise<Record<string, unknown>> {
    const missing = keys.filter((key) => key.length <= MAX_KEY && this.#findKnown(type, key) === undefined);
    const fetched = missing.length > 0 ? await this.#fetch(type, missing) : undefined;
    const values: Record<string, unknown> = {};
    for (const key of keys) {
      // The cache may have evicted the value again, so use the fetched one too.
      const bytes = this.#findKnown(type, key) ?? fetched?.get(key);
      if (bytes) values[key] = this.#decode(type, key, bytes);
    }
    return values;
  }

  /** Reads all values of a type, past the cache. */
  async readAll(type: string): Promise<Record<string, unknown>> {
    const values = await this.#readRemote(type, null);
    return Object.fromEntries([...values].map(([key, bytes]) => [key, decodeValue(type, bytes)]));
  }

  /**
   * Resolves once stored. Unchanged values are not written. A key that the internal API would refuse fails alone,
   * without losing the session.
   */
  async write(values: Values): Promise<void> {
    if (Object.values(values).some((ofType) => Object.keys(ofType).some(({ length }) => length > MAX_KEY)))
      throw new Error('session key is too long');
    const changes = toChanges(values).filter(
      ({ name, bytes }) => this.#writing.has(name) || !isSame(this.#cache.get(name), bytes),
    );
    if (changes.length === 0) return;
    for (const change of changes) {
      this.#writing.set(change.name, change);
      if (change.type === SESSION) this.#keepDecoded(change.name, change.bytes, change.value);
    }
    await this.#sender.push(changes);
    for (const change of changes) {
      if (this.#writing.get(change.name) !== change) continue;
      this.#writing.delete(change.name);
      this.#cache.put(change.name, change.bytes);
    }
  }

  #decode(type: string, key: string, bytes: Buffer): unknown {
    if (type !== SESSION) return decodeValue(type, bytes);
    const name = toEntryName(type, key);
    const known = this.#decoded.get(name);
    if (known) return known;
    const session = decodeValue(type, bytes);
    this.#keepDecoded(name, bytes, session);
    return session;
  }

  #keepDecoded(name: string, bytes: Buffer | null, session: unknown): void {
    if (bytes && bytes.length <= MAX_DECODED_BYTES) this.#decoded.set(name, session);
    else this.#decoded.delete(name);
  }

  #findKnown(type: string, key: string): Buffer | null | undefined {
    const name = toEntryName(type, key);
    const writing = this.#writing.get(name);
    return writing ? writing.bytes : this.#cache.get(name);
  }

  async #send(writes: KeyChange[][]): Promise<void[]> {
    // One statement cannot write a row twice.
    const latest = new Map(writes.flat().map((change) => [change.name, change]));
    this.#stored = this.#stored.then(() =>
      this.#remote.write([...latest.values()].map(toEntry)).catch((error: unknown) => {
        this.#onLost(error);
        throw error;
      }),
    );
    await this.#stored;
    return writes.map(() => undefined);
  }

  async #readRemote(type: string, keys: string[] | null): Promise<Map<string, Buffer>> {
    const found = new Map<string, Buffer>();
    for (const { key, value } of await this.#remote.read(type, keys)) {
      if (value !== null) found.set(key, Buffer.from(value, 'base64'));
    }
    return found;
  }

  async #fetch(type: string, keys: string[]): Promise<Map<string, Buffer>> {
    const found = await this.#readRemote(type, keys);
    for (const key of keys) {
      // Written meanwhile, so the fetched value is older.
      if (this.#findKnown(type, key) !== undefined) found.delete(key);
      else this.#cache.put(toEntryName(type, key), found.get(key) ?? null);
    }
    return found;
  }
}

interface KeyChange {
  name: string;
  type: string;
  key: string;
  value: unknown;
  bytes: Buffer | null;
}

const toEntryName = (type: string, key: string): string => `${type} ${key}`;

function toChanges(values: Values): KeyChange[] {
  return Object.entries(values).flatMap(([type, ofType]) =>
    Object.entries(ofType).map(([key, value]) => ({
      name: toEntryName(type, key),
      type,
      key,
      value,
      bytes: value === null || value === undefined ? null : encodeValue(type, value),
    })),
  );
}

function isSame(known: Buffer | null | undefined, bytes: Buffer | null): boolean {
  if (known === undefined) return false;
  return known === null || bytes === null ? known === bytes : known.equals(bytes);
}

const toEntry = ({ type, key, bytes }: KeyChange): SessionEntry => ({
  type,
  key,
  value: bytes?.toString('base64') ?? null,
});
