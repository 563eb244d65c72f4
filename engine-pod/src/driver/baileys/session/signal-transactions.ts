import { AsyncLocalStorage } from 'node:async_hooks';
import type {
  SignalDataSet,
  SignalDataTypeMap,
  SignalKeyStoreWithTransaction,
} from '@whiskeysockets/baileys';
import { decodeValue, encodeValue } from './codec.js';
import type { KeyType, SessionStore, Values } from './store.js';

interface Transaction {
  changes: Values;
  finished: boolean;
}

/** Done, and not yet safe: nothing may leave this process on the strength of it before it is stored. */
export interface UnsavedResult<T> {
  result: T;
  stored: Promise<void>;
}

/**
 * The keys as the Signal repository sees them. One operation (a message encrypted or decrypted, a session begun)
 * changes several of them, and all its changes are stored in one write, before it resolves; an operation that fails
 * changes nothing.
 *
 * Its locks are given back once its write is begun, not once it is stored: the next operation on the same keys sees
 * its changes, and is stored with it or after it, since writes are stored in the order in which they were begun. So a
 * session that takes part in every message (that of the own phone) costs no round trip for each of them.
 *
 * It takes the place of the transactions that Baileys makes of the store. Those are committed after the stanza has
 * left, and they do not keep sending and receiving apart: a send works under the account's lock and a receipt under
 * the sender's, so each can overwrite the session that the other has just advanced, and the next message is lost.
 */
export class SignalTransactions implements SignalKeyStoreWithTransaction {
  readonly #store: SessionStore;
  readonly #current = new AsyncLocalStorage<Transaction>();

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** Under these locks, taken in the order of their names; within another operation as part of it. */
  async run<T>(locks: readonly string[], work: () => Promise<T>): Promise<T> {
    const { result, stored } = await this.runUnsaved(locks, work);
    await stored;
    return result;
  }

  /** As `run`, for whoever waits later until it is stored. */
  async runUnsaved<T>(locks: readonly string[], work: () => Promise<T>): Promise<UnsavedResult<T>> {
    if (this.isInTransaction()) return { result: await work(), stored: Promise.resolve() };
    const releases: (() => void)[] = [];
    try {
      for (const name of [...new Set(locks)].sort()) releases.push(await this.#store.locks.acquire(name));
      const operation: Transaction = { changes: {}, finished: false };
      const result = await this.#current.run(operation, work).finally(() => (operation.finished = true));
      const stored = this.#store.write(operation.changes);
      // Whoever waits for it hears of it.
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

  set(data: SignalDataSet): Promise<void> {
    return this.change(data);
  }

  async change(changes: Values): Promise<void> {
    const operation = this.#findTransaction();
    if (!operation) return this.#store.write(changes);
    for (const [type, values] of Object.entries(changes)) {
      operation.changes[type] = { ...operation.changes[type], ...values };
    }
  }

  /** None for work that was left behind by an operation which is over: its changes are stored at once. */
  #findTransaction(): Transaction | undefined {
    const operation = this.#current.getStore();
    return operation?.finished ? undefined : operation;
  }
}
