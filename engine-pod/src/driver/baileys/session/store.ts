import type { SignalDataSet, SignalDataTypeMap, SignalKeyStore } from '@whiskeysockets/baileys';
import type { SessionEntry } from '@gwk/core/protocol/engine';
import type { SessionStore as Remote } from '../../driver.js';
import { decode, encode } from './codec.js';
import { Locks } from './keyed-lock.js';
import { WorkingSet } from './cache.js';
import { GroupedWriter } from './batch-writer.js';

export type KeyType = keyof SignalDataTypeMap;
/** By type and key; null removes. */
export type Values = Record<string, Record<string, unknown>>;

const WORKING_SET_BYTES = 8_000_000;
/** By the protocol of the port. Strangers choose some of them: ids of messages, names of groups. */
const MAX_KEY = 500;

/**
 * The session of one number: read through the working set, written durably before it counts. What is being written
 * is already read by others of this process (they may build on it, since writes are stored in order), and nobody
 * else writes: one engine owns the number.
 */
export class SessionStore implements SignalKeyStore {
  /** Of those who change what they have read: a connection that ends may still be at it when the next one begins. */
  readonly locks = new Locks();
  readonly #remote: Remote;
  readonly #writer: GroupedWriter;
  readonly #set = new WorkingSet(WORKING_SET_BYTES);
  /** Not stored yet, so not to be forgotten; with how many writes still carry each. */
  readonly #writing = new Map<string, { value: Buffer | null; writes: number }>();
  readonly #lost: (error: unknown) => void;
  #isLost = false;

  /** @param lost a write failed for good: what is in memory is not what is stored, and nothing may leave any more */
  constructor(remote: Remote, lost: (error: unknown) => void) {
    this.#remote = remote;
    this.#lost = lost;
    this.#writer = new GroupedWriter((entries) => remote.write(entries));
  }

  async get<T extends KeyType>(type: T, keys: string[]): Promise<{ [key: string]: SignalDataTypeMap[T] }> {
    return (await this.read(type, keys)) as { [key: string]: SignalDataTypeMap[T] };
  }

  set(data: SignalDataSet): Promise<void> {
    return this.write(data);
  }

  /** Each value is the caller's own, to change as they like. Absent keys are absent, as are those that none can be. */
  async read(type: string, keys: string[]): Promise<Record<string, unknown>> {
    const missing = keys.filter((key) => key.length <= MAX_KEY && this.#known(type, key) === undefined);
    const fetched = missing.length > 0 ? await this.#fetch(type, missing) : undefined;
    const values: Record<string, unknown> = {};
    for (const key of keys) {
      // Not from the working set alone, which may have let go of it again.
      const bytes = this.#known(type, key) ?? fetched?.get(key);
      if (bytes) values[key] = decode(type, bytes);
    }
    return values;
  }

  /** Everything of a type, past the working set. */
  async readAll(type: string): Promise<Record<string, unknown>> {
    const entries = await this.#remote.read(type, null);
    return Object.fromEntries(
      entries
        .filter((entry) => entry.type === type && entry.value !== null)
        .map(({ key, value }) => [key, decode(type, Buffer.from(value!, 'base64'))]),
    );
  }

  /**
   * Resolves once stored. What would change nothing is not written. A key that the port would refuse fails by itself, and
   * nothing is lost for it.
   */
  async write(values: Values): Promise<void> {
    if (Object.values(values).some((ofType) => Object.keys(ofType).some(({ length }) => length > MAX_KEY)))
      throw new Error('a key of the session is too long');
    const changed = changesOf(values).filter(
      ({ type, key, bytes }) => !isSame(this.#known(type, key), bytes) || this.#isWriting(type, key),
    );
    for (const { type, key, bytes } of changed) this.#begin(type, key, bytes);
    try {
      await this.#writer.write(changed.map(entryOf));
    } catch (error) {
      if (!this.#isLost) {
        this.#isLost = true;
        this.#lost(error);
      }
      throw error;
    }
    for (const { type, key } of changed) this.#end(type, key);
  }

  #known(type: string, key: string): Buffer | null | undefined {
    const writing = this.#writing.get(nameOf(type, key));
    return writing ? writing.value : this.#set.get(type, key);
  }

  #isWriting(type: string, key: string): boolean {
    return this.#writing.has(nameOf(type, key));
  }

  async #fetch(type: string, keys: string[]): Promise<Map<string, Buffer>> {
    const found = new Map<string, Buffer>();
    for (const entry of await this.#remote.read(type, keys)) {
      if (entry.type === type && entry.value !== null)
        found.set(entry.key, Buffer.from(entry.value, 'base64'));
    }
    for (const key of keys) {
      // Written meanwhile: what was fetched is older.
      if (this.#known(type, key) !== undefined) found.delete(key);
      else this.#set.put(type, key, found.get(key) ?? null);
    }
    return found;
  }

  #begin(type: string, key: string, value: Buffer | null): void {
    const name = nameOf(type, key);
    const writes = (this.#writing.get(name)?.writes ?? 0) + 1;
    this.#writing.set(name, { value, writes });
  }

  #end(type: string, key: string): void {
    const name = nameOf(type, key);
    const writing = this.#writing.get(name);
    if (!writing) return;
    writing.writes -= 1;
    if (writing.writes > 0) return;
    this.#writing.delete(name);
    this.#set.put(type, key, writing.value);
  }
}

interface Change {
  type: string;
  key: string;
  bytes: Buffer | null;
}

const nameOf = (type: string, key: string): string => `${type} ${key}`;

function changesOf(values: Values): Change[] {
  return Object.entries(values).flatMap(([type, ofType]) =>
    Object.entries(ofType).map(([key, value]) => ({
      type,
      key,
      bytes: value === null || value === undefined ? null : encode(type, value),
    })),
  );
}

function isSame(known: Buffer | null | undefined, bytes: Buffer | null): boolean {
  if (known === undefined) return false;
  return known === null || bytes === null ? known === bytes : known.equals(bytes);
}

const entryOf = ({ type, key, bytes }: Change): SessionEntry => ({
  type,
  key,
  value: bytes?.toString('base64') ?? null,
});
