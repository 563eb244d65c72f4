import {
  DEFAULT_CONNECTION_CONFIG,
  isHostedPnUser,
  isJidGroup,
  isPnUser,
  jidDecode,
  type SignalRepositoryWithLIDStore as Repository,
  type SocketConfig,
} from '@whiskeysockets/baileys';
import { processClock } from '@gwk/core/clock';
import { failpoint } from '@gwk/core/process/failpoints';
import type { SessionStore } from './store.js';
import { JOURNAL, hashCiphertext, type Journal, type JournalEntry } from '../receive/journal.js';
import {
  findOpenSession,
  migrateSessions,
  RECORD_VERSION,
  type StoredRecord,
} from '../patches/session-migration.js';
import { recordEncryption, writeContext } from '../patches/write-context.js';
import { SignalTransactions, type UnsavedResult } from './signal-transactions.js';
import { TimeSlices } from './time-slices.js';

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
  store: SessionStore,
  journal: Journal,
): SocketConfig['makeSignalRepository'] {
  return ({ creds }, logger, lookUpLids) => {
    const keys = new SignalTransactions(store);
    const stock = DEFAULT_CONNECTION_CONFIG.makeSignalRepository({ creds, keys }, logger, lookUpLids);
    const operations = new DurableOperations(journal, keys, { ...stock });
    const repository = Object.assign(stock, operations.overrides());
    return Object.assign(repository, { ahead: { ...repository, ...operations.aheadOverrides() } });
  };
}

/** Adds a repository for decrypting messages before Baileys handles them (receive/decrypt/read-ahead.ts). */
export type AheadRepository = Repository & { ahead: Repository };

interface Decryption {
  sender: string;
  ciphertext: Uint8Array;
  decrypt: () => Promise<Uint8Array>;
  /** Runs the decryption as one transaction. */
  run: (work: () => Promise<Uint8Array>) => Promise<UnsavedResult<Uint8Array>>;
}

class DurableOperations {
  readonly #journal: Journal;
  readonly #transactions: SignalTransactions;
  readonly #stock: Repository;
  readonly #slices = new TimeSlices(processClock);
  /**
   * Results of read-ahead by ciphertext; each resolves once stored. A failed decryption is not repeated for
   * Baileys: it would fail again, because nothing that changes sessions was handled in between.
   */
  readonly #decryptedAhead = new WeakMap<Uint8Array, Promise<Uint8Array>>();
  /** Sender keys taken ahead, by the hash of the key; one entry for each message that carried it. */
  readonly #keysTakenAhead = new Map<string, Promise<void>[]>();
  /** Serialises reports in the order of the decryptions. */
  #reported: Promise<unknown> = Promise.resolve();

  constructor(journal: Journal, keys: SignalTransactions, stock: Repository) {
    this.#journal = journal;
    this.#transactions = keys;
    this.#stock = stock;
  }

  overrides(): Partial<Repository> {
    return {
      decryptMessage: (request) => this.#decrypt(this.#inSession(request)),
      decryptGroupMessage: (request) => this.#decrypt(this.#inGroup(request)),
      processSenderKeyDistributionMessage: (request) => this.#processKeyOnce(request),
      encryptMessage: (request) => this.#inSlices(() => this.#encrypt(request)),
      validateSession: (jid) => this.#inSlices(() => this.#findSession(jid)),
      encryptGroupMessage: async (request) => {
        const encrypted = await this.#transactions.run([toSenderKeyLock(request.group, request.meId)], () =>
          this.#stock.encryptGroupMessage(request),
        );
        recordEncryption(Promise.resolve());
        return encrypted;
      },
      injectE2ESession: async (request) => {
        const work = (): Promise<void> => this.#stock.injectE2ESession(request);
        await (
          await this.#runForPersonUnsaved(request.jid, work)
        ).stored;
      },
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
      decryptMessage: (request) => this.#decryptAhead(this.#inSession(request)),
      decryptGroupMessage: (request) => this.#decryptAhead(this.#inGroup(request)),
      processSenderKeyDistributionMessage: async (request) => {
        if (!hasValidGroup(request)) return;
        const { stored } = await this.#processKeyUnsaved(request);
        const name = hashGroupKey(request);
        this.#keysTakenAhead.set(name, [...(this.#keysTakenAhead.get(name) ?? []), stored]);
      },
    };
  }

  async #encrypt(
    request: Parameters<Repository['encryptMessage']>[0],
  ): ReturnType<Repository['encryptMessage']> {
    const step = await this.#runForPersonUnsaved(request.jid, () => this.#stock.encryptMessage(request));
    if (!recordEncryption(step.stored)) await step.stored;
    return step.result;
  }

  /**
   * Answers as stock does, but from the stored form: stock makes a record of libsignal from it, and Baileys asks four times
   * for each text.
   */
  async #findSession(jid: string): ReturnType<Repository['validateSession']> {
    try {
      const isPhone = isPnUser(jid) || isHostedPnUser(jid);
      const lid = isPhone ? await this.#stock.lidMapping.getLIDForPN(jid) : null;
      const name = this.#stock.jidToSignalProtocolAddress(lid ?? jid);
      const { [name]: record } = await this.#transactions.get('session', [name]);
      const stored = record as unknown as StoredRecord | undefined;
      if (stored && stored.version !== RECORD_VERSION) return await this.#stock.validateSession(jid);
      const open = stored && findOpenSession(stored);
      return typeof open?.registrationId === 'number'
        ? { exists: true }
        : { exists: false, reason: 'no open session' };
    } catch {
      return { exists: false, reason: 'validation error' };
    }
  }

  /** Baileys does this at once for all members of a group. A direct message does not wait for them. */
  #inSlices<T>(work: () => Promise<T>): Promise<T> {
    return isJidGroup(writeContext.getStore()?.chat) ? this.#slices.run(work) : work();
  }

  #inSession(request: Parameters<Repository['decryptMessage']>[0]): Decryption {
    const { jid, ciphertext } = request;
    return {
      sender: jid,
      ciphertext,
      decrypt: () => this.#stock.decryptMessage(request),
      run: (work) => this.#runForPersonUnsaved(jid, work),
    };
  }

  #inGroup(request: Parameters<Repository['decryptGroupMessage']>[0]): Decryption {
    const { group, authorJid, msg } = request;
    return {
      sender: `${group} ${authorJid}`,
      ciphertext: msg,
      decrypt: () => this.#stock.decryptGroupMessage(request),
      run: (work) => this.#transactions.runUnsaved([toSenderKeyLock(group, authorJid)], work),
    };
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

  #decrypt(decryption: Decryption): Promise<Uint8Array> {
    return this.#decryptedAhead.get(decryption.ciphertext) ?? this.#decryptOnce(decryption);
  }

  #decryptAhead(decryption: Decryption): Promise<Uint8Array> {
    const { promise: decrypted, resolve: onDecrypted } = Promise.withResolvers<Uint8Array>();
    const stored = this.#decryptOnce(decryption, onDecrypted);
    // The caller handles the error.
    stored.catch(() => undefined);
    this.#decryptedAhead.set(decryption.ciphertext, stored);
    return Promise.race([decrypted, stored]);
  }

  /**
   * Decrypts a ciphertext once. It cannot be decrypted again, and must be stored before it is acknowledged.
   * @param onDecrypted called once it is decrypted and its write has begun
   */
  #decryptOnce(
    { sender, ciphertext, decrypt, run }: Decryption,
    onDecrypted?: (plaintext: Uint8Array) => void,
  ): Promise<Uint8Array> {
    const name = hashCiphertext(sender, ciphertext);
    return this.#journal.decryptOnce(name, async () => {
      let entry: JournalEntry | undefined;
      const { result, stored } = await run(async () => {
        const journalled = this.#journal.get(name);
        if (journalled) return journalled.plaintext;
        const decrypted = await decrypt();
        entry = this.#journal.createEntryFor(ciphertext, decrypted);
        if (entry) {
          await this.#transactions.set({ [JOURNAL]: { [name]: entry } });
          failpoint('engine.before-journal');
        }
        return decrypted;
      });
      const reported = entry ? this.#reportJournalled(name, entry, stored) : stored;
      onDecrypted?.(result);
      await reported;
      return result;
    });
  }

  /** Reports in the order of the calls. */
  #reportJournalled(name: string, entry: JournalEntry, stored: Promise<void>): Promise<void> {
    const reported = Promise.all([stored, this.#reported]).then(() => {
      failpoint('engine.after-journal');
      this.#journal.keep(name, entry);
    });
    this.#reported = reported.catch(() => undefined);
    return reported;
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
    const { [decoded.user]: lid } = await this.#transactions.get('lid-mapping', [decoded.user]);
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

const hashGroupKey = ({ item, authorJid }: GroupKey): string =>
  hashCiphertext(
    `${item.groupId} ${authorJid}`,
    item.axolotlSenderKeyDistributionMessage ?? new Uint8Array(),
  );

const toSenderKeyLock = (group: string, author: string): string => `sender key ${group} ${author}`;
