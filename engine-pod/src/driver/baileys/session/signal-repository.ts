import {
  DEFAULT_CONNECTION_CONFIG,
  jidDecode,
  type SignalRepositoryWithLIDStore as Repository,
  type SocketConfig,
} from '@whiskeysockets/baileys';
import { failpoint } from '@gwk/core/failpoints';
import type { SessionStore } from './store.js';
import {
  JOURNAL,
  hashCiphertext,
  type Journal,
  type JournalEntry,
  type CiphertextOrigins,
} from '../receive/journal.js';
import { migrateSessions } from '../patches/session-migration.js';
import { SignalTransactions, type UnsavedResult } from './signal-transactions.js';

export interface SignalRepositoryOptions {
  store: SessionStore;
  origins: CiphertextOrigins;
  journal: Journal;
  /** Called after a message is decrypted and stored with its ratchet step, in order of arrival. */
  journalled: (name: string, entry: JournalEntry) => void;
  /**
   * Called after an encryption, in the context of its caller.
   * @returns whether the caller itself waits until the ratchet step is stored
   */
  encrypted: (stored: Promise<void>) => boolean;
}

/**
 * Baileys' Signal repository with these guarantees added:
 * - The changes of an encryption are stored before the stanza leaves.
 * - A plaintext is stored in the same write as its ratchet step, before the network gets the acknowledgement. The
 *   journal answers if the same ciphertext comes again.
 * - Changes to one person's sessions are serialised under both ids of the person.
 *
 * See docs/decisions/0009-how-the-baileys-driver-prevents-loss-and-duplicates.md.
 */
export function createSignalRepository(
  options: SignalRepositoryOptions,
): SocketConfig['makeSignalRepository'] {
  return ({ creds }, logger, lookUpLids) => {
    const keys = new SignalTransactions(options.store);
    const stock = DEFAULT_CONNECTION_CONFIG.makeSignalRepository({ creds, keys }, logger, lookUpLids);
    const operations = new DurableOperations(options, keys, { ...stock });
    const repository = Object.assign(stock, operations.overrides());
    return Object.assign(repository, { ahead: { ...repository, ...operations.aheadOverrides() } });
  };
}

/** Adds a repository for decrypting messages before Baileys handles them (receive/decrypt/read-ahead.ts). */
export type AheadRepository = Repository & { ahead: Repository };

/** Runs a decryption as one transaction. */
type Decrypting = (
  decryption: (decrypt: Decrypt) => Promise<Uint8Array>,
) => Promise<UnsavedResult<Uint8Array>>;
type Decrypt = () => Promise<Uint8Array>;

class DurableOperations {
  readonly #options: SignalRepositoryOptions;
  readonly #transactions: SignalTransactions;
  readonly #stock: Repository;
  /**
   * Results of read-ahead by ciphertext; each resolves once stored. A failed decryption is not repeated for
   * Baileys: it would fail again, because nothing that changes sessions was handled in between.
   */
  readonly #decryptedAhead = new WeakMap<Uint8Array, Promise<Uint8Array>>();
  /** The same for sender keys, by the hash of the key; one entry for each message that carried it. */
  readonly #keysTakenAhead = new Map<string, Promise<void>[]>();
  /** Serialises reports in the order of the decryptions. */
  #reported: Promise<unknown> = Promise.resolve();

  constructor(options: SignalRepositoryOptions, keys: SignalTransactions, stock: Repository) {
    this.#options = options;
    this.#transactions = keys;
    this.#stock = stock;
  }

  overrides(): Partial<Repository> {
    return {
      decryptMessage: (request) =>
        this.#decrypt(request.jid, request.ciphertext, this.#inSessionTransaction(request)),
      decryptGroupMessage: (request) =>
        this.#decrypt(toGroupAuthor(request), request.msg, this.#inGroupTransaction(request)),
      processSenderKeyDistributionMessage: (request) => this.#processKeyOnce(request),
      encryptMessage: async (request) => {
        const step = await this.#runForPersonUnsaved(request.jid, () => this.#stock.encryptMessage(request));
        if (!this.#options.encrypted(step.stored)) await step.stored;
        return step.result;
      },
      encryptGroupMessage: async (request) => {
        const encrypted = await this.#transactions.run([toSenderKeyLock(request.group, request.meId)], () =>
          this.#stock.encryptGroupMessage(request),
        );
        this.#options.encrypted(Promise.resolve());
        return encrypted;
      },
      injectE2ESession: (request) =>
        this.#runForPerson(request.jid, () => this.#stock.injectE2ESession(request)),
      migrateSession: (from, to) =>
        this.#transactions.run(
          [from, to].map(toPersonLock),
          async () =>
            (await migrateSessions(this.#transactions, from, to)) ?? this.#stock.migrateSession(from, to),
        ),
    };
  }

  /**
   * These resolve once a message is decrypted and its write has begun, so that the next one can be decrypted
   * meanwhile.
   */
  aheadOverrides(): Partial<Repository> {
    return {
      decryptMessage: (request) =>
        this.#decryptAhead(request.jid, request.ciphertext, this.#inSessionTransaction(request)),
      decryptGroupMessage: (request) =>
        this.#decryptAhead(toGroupAuthor(request), request.msg, this.#inGroupTransaction(request)),
      processSenderKeyDistributionMessage: async (request) => {
        if (!hasValidGroup(request)) return;
        const { stored } = await this.#processKeyUnsaved(request);
        const name = hashGroupKey(request);
        this.#keysTakenAhead.set(name, [...(this.#keysTakenAhead.get(name) ?? []), stored]);
      },
    };
  }

  #inSessionTransaction(encrypted: Parameters<Repository['decryptMessage']>[0]): Decrypting {
    return (decryption) =>
      this.#runForPersonUnsaved(encrypted.jid, () => decryption(() => this.#stock.decryptMessage(encrypted)));
  }

  #inGroupTransaction(encrypted: Parameters<Repository['decryptGroupMessage']>[0]): Decrypting {
    return (decryption) =>
      this.#transactions.runUnsaved([toSenderKeyLock(encrypted.group, encrypted.authorJid)], () =>
        decryption(() => this.#stock.decryptGroupMessage(encrypted)),
      );
  }

  #processKeyUnsaved(key: GroupKey): Promise<UnsavedResult<void>> {
    return this.#transactions.runUnsaved([toSenderKeyLock(key.item.groupId ?? '', key.authorJid)], () =>
      this.#stock.processSenderKeyDistributionMessage(key),
    );
  }

  /** Processes the key once for each message. Processing it again would evict older keys of the author. */
  async #processKeyOnce(key: GroupKey): Promise<void> {
    if (!hasValidGroup(key)) return;
    const name = hashGroupKey(key);
    const [processed, ...further] = this.#keysTakenAhead.get(name) ?? [];
    if (further.length > 0) this.#keysTakenAhead.set(name, further);
    else this.#keysTakenAhead.delete(name);
    await (processed ?? (await this.#processKeyUnsaved(key)).stored);
  }

  #decrypt(sender: string, ciphertext: Uint8Array, decrypting: Decrypting): Promise<Uint8Array> {
    const decryptedAhead = this.#decryptedAhead.get(ciphertext);
    return (
      decryptedAhead ?? this.#decryptOnce(hashCiphertext(sender, ciphertext), ciphertext, { decrypting })
    );
  }

  #decryptAhead(sender: string, ciphertext: Uint8Array, decrypting: Decrypting): Promise<Uint8Array> {
    const name = hashCiphertext(sender, ciphertext);
    const { promise: decrypted, resolve: onDecrypted } = Promise.withResolvers<Uint8Array>();
    const stored = this.#decryptOnce(name, ciphertext, { decrypting, onDecrypted });
    // The caller handles the error.
    stored.catch(() => undefined);
    this.#decryptedAhead.set(ciphertext, stored);
    return Promise.race([decrypted, stored]);
  }

  /**
   * Decrypts a ciphertext once. It cannot be decrypted again, and must be stored before it is acknowledged.
   * @param onDecrypted called once it is decrypted and its write has begun
   */
  #decryptOnce(
    name: string,
    ciphertext: Uint8Array,
    { decrypting, onDecrypted }: { decrypting: Decrypting; onDecrypted?: (plaintext: Uint8Array) => void },
  ): Promise<Uint8Array> {
    return this.#options.journal.decryptOnce(name, async () => {
      const { result, stored } = await this.#decryptUnsaved(name, ciphertext, decrypting);
      onDecrypted?.(result);
      await stored;
      return result;
    });
  }

  async #decryptUnsaved(
    name: string,
    ciphertext: Uint8Array,
    decrypting: Decrypting,
  ): Promise<UnsavedResult<Uint8Array>> {
    const { journal, origins } = this.#options;
    let entry: JournalEntry | undefined;
    const unsaved = await decrypting(async (decrypt) => {
      const journalled = journal.get(name);
      if (journalled) return journalled.plaintext;
      const decrypted = await decrypt();
      const attrs = origins.findAttrs(ciphertext);
      if (attrs) {
        entry = journal.createEntry(attrs, decrypted);
        await this.#transactions.set({ [JOURNAL]: { [name]: entry } });
        failpoint('engine.before-journal');
      }
      return decrypted;
    });
    return entry ? { ...unsaved, stored: this.#reportJournalled(name, entry, unsaved.stored) } : unsaved;
  }

  /** Reports in the order of the calls. */
  #reportJournalled(name: string, entry: JournalEntry, stored: Promise<void>): Promise<void> {
    const { journal, journalled } = this.#options;
    const reported = Promise.all([stored, this.#reported]).then(() => {
      failpoint('engine.after-journal');
      journal.keep(name, entry);
      journalled(name, entry);
    });
    this.#reported = reported.catch(() => undefined);
    return reported;
  }

  async #runForPerson<T>(jid: string, work: () => Promise<T>): Promise<T> {
    const { result, stored } = await this.#runForPersonUnsaved(jid, work);
    await stored;
    return result;
  }

  /** Locks the id under which the sessions of this person are stored now. */
  async #runForPersonUnsaved<T>(jid: string, work: () => Promise<T>): Promise<UnsavedResult<T>> {
    for (;;) {
      const lock = await this.#findPersonLock(jid);
      const { result, stored } = await this.#transactions.runUnsaved([lock], async () =>
        (await this.#findPersonLock(jid)) === lock ? { done: await work() } : undefined,
      );
      if (result) return { result: result.done, stored };
    }
  }

  async #findPersonLock(jid: string): Promise<string> {
    const decoded = jidDecode(jid);
    if (decoded?.server !== 's.whatsapp.net' && decoded?.server !== 'hosted') return toPersonLock(jid);
    const { [decoded.user]: lid } = await this.#options.store.read('lid-mapping', [decoded.user]);
    return typeof lid === 'string' ? `person ${lid}` : toPersonLock(jid);
  }
}

const GROUP = /^[\d-]{1,60}@g\.us$|^status@broadcast$/;

const toPersonLock = (jid: string): string => `person ${jidDecode(jid)?.user ?? jid}`;

type GroupKey = Parameters<Repository['processSenderKeyDistributionMessage']>[0];

/**
 * The sender chooses the group of the key. Reject ids that name no group, because such keys would only take up
 * storage.
 */
const hasValidGroup = ({ item }: GroupKey): boolean => GROUP.test(item.groupId ?? '');

const toGroupAuthor = ({ group, authorJid }: { group: string; authorJid: string }): string =>
  `${group} ${authorJid}`;

const hashGroupKey = ({ item, authorJid }: GroupKey): string =>
  hashCiphertext(
    `${item.groupId} ${authorJid}`,
    item.axolotlSenderKeyDistributionMessage ?? new Uint8Array(),
  );

const toSenderKeyLock = (group: string, author: string): string => `sender key ${group} ${author}`;
