import { AsyncLocalStorage } from 'node:async_hooks';
import type { SignalDataTypeMap, SignalKeyStoreWithTransaction } from '@whiskeysockets/baileys';
import { decodeValue, encodeValue } from './codec.js';
import type { KeyType, SessionStore, Values } from './store.js';

interface Transaction {
  changes: Values;
  finished: boolean;
}

/**
 * A result whose changes are not stored yet. Nothing that depends on it may leave this process before `stored`
 * resolves.
 */
export interface UnsavedResult<T> {
  result: T;
  stored: Promise<void>;
}

/**
 * Replaces Baileys' transactions. One transaction encrypts or decrypts one message or starts a session. Its changes
 * are stored in one write before it resolves; a failed transaction changes nothing. Locks are released when the
 * write begins: the next transaction on the same keys sees the changes, and writes keep their order.
 * See docs/decisions/0009-how-the-baileys-driver-prevents-loss-and-duplicates.md.
 */
export class SignalTransactions implements SignalKeyStoreWithTransaction {
  readonly #store: SessionStore;
  readonly #current = new AsyncLocalStorage<Transaction>();

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** Runs under these locks, acquired in the order of their names; within another transaction, as part of it. */
  async run<T>(locks: readonly string[], work: () => Promise<T>): Promise<T> {
    const { result, stored } = await this.runUnsaved(locks, work);
    await stored;
    return result;
  }

  /** As `run`, for callers that wait for the write later. */
  async runUnsaved<T>(locks: readonly string[], work: () => Promise<T>): Promise<UnsavedResult<T>> {
    if (this.isInTransaction()) return { result: await work(), stored: Promise.resolve() };
    const releases: (() => void)[] = [];
    try {
      for (const name of [...new Set(locks)].sort()) releases.push(await this.#store.locks.acquire(name));
      const operation: Transaction = { changes: {}, finished: false };
      const result = await this.#current.run(operation, work).finally(() => (operation.finished = true));
      const stored = this.#store.write(operation.changes);
      // The caller handles the error.
      stored.catch(() => undefined);
      return { result, stored };
    } finally {
      for (const release of releases) release();
    }
  }

  transaction<T>(work: () => Promise<T>, key: string): Promise<T> {
    return this.run([`key ${key}`], work);
  }

  isInTransaction(): boolean {
    return this.#findTransaction() !== undefined;
  }

  async get<T extends KeyType>(type: T, keys: string[]): Promise<{ [key: string]: SignalDataTypeMap[T] }> {
    const changed = this.#findTransaction()?.changes[type] ?? {};
    const values = await this.#store.read(
      type,
      keys.filter((key) => !(key in changed)),
    );
    for (const key of keys) {
      const value = changed[key];
      if (value !== undefined && value !== null) values[key] = decodeValue(type, encodeValue(type, value));
    }
    return values as { [key: string]: SignalDataTypeMap[T] };
  }

  async set(changes: Values): Promise<void> {
    const operation = this.#findTransaction();
    if (!operation) return this.#store.write(changes);
    for (const [type, values] of Object.entries(changes)) {
      operation.changes[type] = { ...operation.changes[type], ...values };
    }
  }

  /** None for work left behind by a finished transaction; its changes are stored at once. */
  #findTransaction(): Transaction | undefined {
    const operation = this.#current.getStore();
    return operation?.finished ? undefined : operation;
  }
}
