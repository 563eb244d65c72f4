import type { SessionStore } from '../../session/store.js';

/** Of the session store. */
export const MESSAGE_SECRET = 'message-secret';

interface StoredSecret {
  secret: Buffer;
  at: number;
}

/** Apps let their users edit for a quarter of an hour; what was edited while the number was away comes later. */
const MAX_AGE_MS = 24 * 3_600_000;
/** The oldest go first: what they take in memory and in the store is bounded. */
const MAX_SECRETS = 5_000;

/** Secrets of messages that came, by which their authors' edits are read. Kept as long as an edit may come. */
export class MessageSecrets {
  readonly #store: SessionStore;
  /** Names and times, oldest first; the secrets themselves are in the store. */
  #known: Promise<Map<string, number>> | undefined;

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** Resolves once stored. */
  async add(author: string, id: string, secret: Uint8Array): Promise<void> {
    const known = await (this.#known ??= this.#load());
    const [name, at] = [toSecretName(author, id), Date.now()];
    // The first one counts: whoever writes may use an id again, and must not change what was said under it.
    if (known.has(name)) return;
    known.set(name, at);
    const kept: StoredSecret = { secret: Buffer.from(secret), at };
    const changes: Record<string, StoredSecret | null> = { [name]: kept };
    for (const [oldest, since] of known) {
      if (known.size <= MAX_SECRETS && at - since < MAX_AGE_MS) break;
      known.delete(oldest);
      changes[oldest] = null;
    }
    await this.#store.write({ [MESSAGE_SECRET]: changes });
  }

  /** By any of the author's names. */
  async find(authors: readonly string[], id: string): Promise<Buffer | null> {
    const names = authors.map((author) => toSecretName(author, id));
    const found = (await this.#store.read(MESSAGE_SECRET, names)) as Record<string, StoredSecret>;
    return Object.values(found)[0]?.secret ?? null;
  }

  async #load(): Promise<Map<string, number>> {
    const kept = Object.entries(await this.#store.readAll(MESSAGE_SECRET)) as [string, StoredSecret][];
    kept.sort(([, a], [, b]) => a.at - b.at);
    return new Map(kept.map(([name, { at }]) => [name, at]));
  }
}

const toSecretName = (author: string, id: string): string => `${author.slice(0, 100)} ${id.slice(0, 200)}`;
