import { createHash } from 'node:crypto';
import type { BinaryNode } from '@whiskeysockets/baileys';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { SessionStore } from '../session/store.js';

/** A decrypted message with the attributes of its stanza: everything needed to normalise it. */
export interface JournalEntry {
  attrs: Record<string, string>;
  plaintext: Buffer;
  /** Position in the order of arrival. */
  order: number;
}

/** Type of the entries in the session store. */
export const JOURNAL = 'journal';

/** Settled entries are kept for at most this long, in case the acknowledgement did not reach the network. */
const KEPT_MS = 10 * 60_000;
const MAX_SETTLED = 1_000;
const MAX_ACKNOWLEDGED = 1_000;

/**
 * Messages that are decrypted but not settled, and settled ones until the network confirms the acknowledgement. The
 * whole journal is in memory, so a lookup makes no request.
 */
export class Journal {
  readonly #store: SessionStore;
  readonly #onEntry: (name: string, entry: JournalEntry) => void;
  readonly #entries = new Map<string, JournalEntry>();
  /** Settled entries, oldest first: names by message id, because the network refers to ids. */
  readonly #settled = new Map<string, { names: string[]; at: number }>();
  /** Messages that were acknowledged before they were settled. */
  readonly #acknowledged = new ExpiringMap<true>({ max: MAX_ACKNOWLEDGED, ttlMs: KEPT_MS });
  /**
   * Decryptions that are not stored yet, by name. The same ciphertext again, even on the next connection, waits for
   * the first.
   */
  readonly #storing = new Map<string, Promise<Uint8Array>>();
  /** The stanza that carried each ciphertext, because decryption only gets the ciphertext. */
  readonly #stanzas = new WeakMap<Uint8Array, BinaryNode>();
  #loaded: Promise<void> | undefined;
  #order = 0;

  /** @param onEntry called for each stored entry, in order of arrival */
  constructor(store: SessionStore, onEntry: (name: string, entry: JournalEntry) => void) {
    this.#store = store;
    this.#onEntry = onEntry;
  }

  /** Loads the entries that an earlier engine left, once for all connections. */
  load(): Promise<void> {
    this.#loaded ??= this.#load().catch((error: unknown) => {
      this.#loaded = undefined;
      throw error;
    });
    return this.#loaded;
  }

  async #load(): Promise<void> {
    const found = Object.entries(await this.#store.readAll(JOURNAL)) as [string, JournalEntry][];
    found.sort(([, a], [, b]) => a.order - b.order);
    for (const [name, entry] of found) this.keep(name, entry);
  }

  get(name: string): JournalEntry | undefined {
    return this.#entries.get(name);
  }

  /** @param decrypt stores and keeps the plaintext. It runs at most once at a time for a name. */
  decryptOnce(name: string, decrypt: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const storing = this.#storing.get(name);
    if (storing) return storing;
    const decrypting = decrypt().finally(() => this.#storing.delete(name));
    this.#storing.set(name, decrypting);
    return decrypting;
  }

  /** Call before the stanza is decrypted. */
  recordCiphertexts(stanza: BinaryNode): void {
    if (stanza.tag !== 'message' || !Array.isArray(stanza.content)) return;
    for (const { tag, content } of stanza.content) {
      if (tag === 'enc' && content instanceof Uint8Array) this.#stanzas.set(content, stanza);
    }
  }

  /** Undefined for a ciphertext that came in no stanza. */
  createEntryFor(ciphertext: Uint8Array, plaintext: Uint8Array): JournalEntry | undefined {
    const stanza = this.#stanzas.get(ciphertext);
    return stanza && this.#createEntry(stanza.attrs, plaintext);
  }

  #createEntry(attrs: Record<string, string>, plaintext: Uint8Array): JournalEntry {
    this.#order = Math.max(this.#order + 1, Date.now() * 1_000);
    return { attrs, plaintext: Buffer.from(plaintext), order: this.#order };
  }

  /** Stores plaintext that did not come from a decryption, unless it is journalled already. */
  async addPlaintext(attrs: Record<string, string>, plaintext: Uint8Array): Promise<void> {
    const name = hashCiphertext(attrs['from'] ?? '', Buffer.from(`${attrs['participant']} ${attrs['id']}`));
    if (this.#entries.has(name)) return;
    const entry = this.#createEntry(attrs, plaintext);
    await this.#store.write({ [JOURNAL]: { [name]: entry } });
    this.keep(name, entry);
  }

  /** Adds a stored entry to memory and reports it. */
  keep(name: string, entry: JournalEntry): void {
    this.#entries.set(name, entry);
    this.#onEntry(name, entry);
  }

  /** The API has the message. The entry is removed once the network has seen the acknowledgement. */
  settle(name: string): void {
    const id = this.#entries.get(name)?.attrs['id'] ?? '';
    const names = [...(this.#settled.get(id)?.names ?? []), name];
    this.#settled.set(id, { names, at: performance.now() });
    if (this.#acknowledged.delete(id)) this.#remove(id);
    for (const [oldest, { at }] of this.#settled) {
      if (this.#settled.size <= MAX_SETTLED && performance.now() - at < KEPT_MS) break;
      this.#remove(oldest);
    }
  }

  /** The network has seen the acknowledgement of this id and will not send its messages again. */
  acknowledged(id: string): void {
    if (this.#settled.has(id)) this.#remove(id);
    else this.#acknowledged.set(id, true);
  }

  #remove(id: string): void {
    const names = this.#settled.get(id)?.names ?? [];
    this.#settled.delete(id);
    for (const name of names) this.#entries.delete(name);
    // Nobody waits. If an entry is not removed, the API recognises the duplicate.
    this.#store
      .write({ [JOURNAL]: Object.fromEntries(names.map((name) => [name, null])) })
      .catch(() => undefined);
  }
}

/** Returns one name for each pair of sender and ciphertext, however often it arrives. */
export function hashCiphertext(sender: string, ciphertext: Uint8Array): string {
  return createHash('sha256').update(sender).update('\0').update(ciphertext).digest('hex');
}
