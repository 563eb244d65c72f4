import { createHash } from 'node:crypto';
import type { BinaryNode } from '@whiskeysockets/baileys';
import type { SessionStore } from '../session/store.js';

/** A message as it was decrypted, with what the network said of it: enough to make of it what it means. */
export interface JournalEntry {
  attrs: Record<string, string>;
  plaintext: Buffer;
  /** They are gone through in the order in which they came. */
  order: number;
}

/** Of the session store. */
export const JOURNAL = 'journal';

/** What is dealt with is kept so long and so many at most, in case the network has not heard that it came. */
const KEPT_MS = 10 * 60_000;
const MAX_SETTLED = 1_000;
const MAX_ACKNOWLEDGED = 1_000;

/**
 * What was decrypted and is not yet dealt with; and what is dealt with, until the network has heard that it came. It
 * is in memory whole, so that an unknown message costs no question.
 */
export class Journal {
  readonly #store: SessionStore;
  readonly #entries = new Map<string, JournalEntry>();
  /** Dealt with, oldest first: names by the id of the message, which is what the network names. */
  readonly #settled = new Map<string, { names: string[]; at: number }>();
  /** What the network has heard of before it was dealt with. */
  readonly #acknowledged = new Set<string>();
  /**
   * Decrypted and not yet stored, by name: the same ciphertext again waits for it, be it brought by the next connection.
   */
  readonly #storing = new Map<string, Promise<Uint8Array>>();
  #order = 0;

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** What an earlier engine left, in order. Asked for anew after each loss of memory. */
  async load(): Promise<[string, JournalEntry][]> {
    const found = Object.entries(await this.#store.readAll(JOURNAL)) as [string, JournalEntry][];
    found.sort(([, a], [, b]) => a.order - b.order);
    this.#entries.clear();
    this.#settled.clear();
    for (const [name, entry] of found) this.#entries.set(name, entry);
    return found;
  }

  get(name: string): JournalEntry | undefined {
    return this.#entries.get(name);
  }

  /** @param decrypt stores what it reads, and keeps it here; it runs once for a name until it has ended */
  decryptOnce(name: string, decrypt: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const storing = this.#storing.get(name);
    if (storing) return storing;
    const decrypting = decrypt().finally(() => this.#storing.delete(name));
    this.#storing.set(name, decrypting);
    return decrypting;
  }

  createEntry(attrs: Record<string, string>, plaintext: Uint8Array): JournalEntry {
    this.#order = Math.max(this.#order + 1, Date.now() * 1_000);
    return { attrs, plaintext: Buffer.from(plaintext), order: this.#order };
  }

  /** What did not come out of a decryption: stored by itself. Null where it is known already. */
  async addPlaintext(
    attrs: Record<string, string>,
    plaintext: Uint8Array,
  ): Promise<[string, JournalEntry] | null> {
    const name = hashCiphertext(attrs['from'] ?? '', Buffer.from(`${attrs['participant']} ${attrs['id']}`));
    if (this.#entries.has(name)) return null;
    const entry = this.createEntry(attrs, plaintext);
    await this.#store.write({ [JOURNAL]: { [name]: entry } });
    this.keep(name, entry);
    return [name, entry];
  }

  /** It is stored. */
  keep(name: string, entry: JournalEntry): void {
    this.#entries.set(name, entry);
  }

  /** The API has it: it may go as soon as the network has heard that it came. */
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

  /** The network has heard that the messages of this id came: it will not bring them again. */
  acknowledged(id: string): void {
    if (this.#settled.has(id)) return this.#remove(id);
    this.#acknowledged.add(id);
    if (this.#acknowledged.size <= MAX_ACKNOWLEDGED) return;
    const [oldest] = this.#acknowledged;
    this.#acknowledged.delete(oldest!);
  }

  #remove(id: string): void {
    const names = this.#settled.get(id)?.names ?? [];
    this.#settled.delete(id);
    for (const name of names) this.#entries.delete(name);
    // Nothing waits for it, and whatever is not removed is found to be known by the API.
    this.#store
      .write({ [JOURNAL]: Object.fromEntries(names.map((name) => [name, null])) })
      .catch(() => undefined);
  }
}

/** The same ciphertext for the same sender has the same name, however often it comes. */
export function hashCiphertext(sender: string, ciphertext: Uint8Array): string {
  return createHash('sha256').update(sender).update('\0').update(ciphertext).digest('hex');
}

/**
 * The stanza that each ciphertext came in: decryption is given the ciphertext alone. Nothing is kept of a stanza that
 * nobody holds any more.
 */
export class CiphertextOrigins {
  readonly #stanzas = new WeakMap<Uint8Array, BinaryNode>();

  record(stanza: BinaryNode): void {
    if (stanza.tag !== 'message' || !Array.isArray(stanza.content)) return;
    for (const { tag, content } of stanza.content) {
      if (tag === 'enc' && content instanceof Uint8Array) this.#stanzas.set(content, stanza);
    }
  }

  findAttrs(ciphertext: Uint8Array): Record<string, string> | undefined {
    return this.#stanzas.get(ciphertext)?.attrs;
  }
}
