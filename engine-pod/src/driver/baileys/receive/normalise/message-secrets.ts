import type { SessionStore } from '../../session/store.js';

/** Type of the entries in the session store. */
const MESSAGE_SECRET = 'message-secret';

interface StoredSecret {
  secret: Buffer;
  at: number;
}

/** Apps allow edits for 15 minutes, but edits made while the instance was offline come later. */
const MAX_AGE_MS = 24 * 3_600_000;
/** Bounds memory and storage. The oldest secrets are removed first. */
const MAX_SECRETS = 5_000;

/** Secrets of received messages, which decrypt their authors' edits. Kept as long as an edit may come. */
export class MessageSecrets {
  readonly #store: SessionStore;
  /** Names and times, oldest first. The secrets themselves are in the store. */
  #known: Promise<Map<string, number>> | undefined;

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** Resolves once stored. */
  async add(author: string, id: string, secret: Uint8Array): Promise<void> {
    const known = await (this.#known ??= this.#load());
    const [name, at] = [toSecretName(author, id), Date.now()];
    // The first secret counts. A sender may reuse an id, but must not change the text of the earlier message.
    if (known.has(name)) return;
    known.set(name, at);
    const stored: StoredSecret = { secret: Buffer.from(secret), at };
    const changes: Record<string, StoredSecret | null> = { [name]: stored };
    for (const [oldest, since] of known) {
      if (known.size <= MAX_SECRETS && at - since < MAX_AGE_MS) break;
      known.delete(oldest);
      changes[oldest] = null;
    }
    await this.#store.write({ [MESSAGE_SECRET]: changes });
  }

  /** Finds a secret by any id of the author. */
  async find(authors: readonly string[], id: string): Promise<Buffer | null> {
    const names = authors.map((author) => toSecretName(author, id));
    const found = (await this.#store.read(MESSAGE_SECRET, names)) as Record<string, StoredSecret>;
    return Object.values(found)[0]?.secret ?? null;
  }

  async #load(): Promise<Map<string, number>> {
    const stored = Object.entries(await this.#store.readAll(MESSAGE_SECRET)) as [string, StoredSecret][];
    stored.sort(([, a], [, b]) => a.at - b.at);
    return new Map(stored.map(([name, { at }]) => [name, at]));
  }
}

const toSecretName = (author: string, id: string): string => `${author.slice(0, 100)} ${id.slice(0, 200)}`;
