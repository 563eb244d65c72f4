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
  nameOfCiphertext,
  type Journal,
  type Journalled,
  type Origins,
} from '../receive/journal.js';
import { mergeRecords, movesBetween, type StoredRecord } from './merge-sessions.js';
import { Operations, type Step } from './signal-transactions.js';

export interface RepositoryOptions {
  store: SessionStore;
  origins: Origins;
  journal: Journal;
  /** Decrypted, and stored with its ratchet step. Told in the order in which messages came. */
  journalled: (name: string, entry: Journalled) => void;
  /**
   * Something is encrypted, in the context of whoever asked for it.
   * @returns whether they wait themselves until its ratchet step is stored
   */
  encrypted: (stored: Promise<void>) => boolean;
}

/**
 * Baileys' Signal repository, with what it lacks:
 * - What a message changes is stored before its stanza leaves: none ever leaves with a key of the ratchet that would be
 *   used again after a crash (receivers drop such a message in silence).
 * - A plaintext is stored in the same write as the ratchet step that it cost, before the network is told that it
 *   came: the ciphertext cannot be read a second time. The same ciphertext again is answered from the journal.
 * - Whatever changes one person's sessions comes one after the other, by whichever of their two names.
 */
export function makeRepository(options: RepositoryOptions): SocketConfig['makeSignalRepository'] {
  return ({ creds }, logger, lookUpLids) => {
    const keys = new Operations(options.store);
    const stock = DEFAULT_CONNECTION_CONFIG.makeSignalRepository({ creds, keys }, logger, lookUpLids);
    const operations = new SafeOperations(options, keys, { ...stock });
    const repository = Object.assign(stock, operations.overrides());
    return Object.assign(repository, { ahead: { ...repository, ...operations.aheadOverrides() } });
  };
}

/** The same, for whoever reads messages before Baileys comes to them (see Ahead). */
export type AheadRepository = Repository & { ahead: Repository };

/** Runs a decryption, which it is given, as one operation. */
type Decrypting = (decryption: (decrypt: Decrypt) => Promise<Uint8Array>) => Promise<Step<Uint8Array>>;
type Decrypt = () => Promise<Uint8Array>;

class SafeOperations {
  readonly #options: RepositoryOptions;
  readonly #keys: Operations;
  readonly #stock: Repository;
  /**
   * What was read ahead, by its ciphertext; each resolves once it is stored. What could not be read is not tried again
   * for Baileys: the effort would be the same, and nothing that changes sessions was taken meanwhile.
   */
  readonly #read = new WeakMap<Uint8Array, Promise<Uint8Array>>();
  /** Likewise keys of groups, as often as each came, by the name of what brought them. */
  readonly #taken = new Map<string, Promise<void>[]>();
  /** What was decrypted is told in the order in which it was. */
  #told: Promise<unknown> = Promise.resolve();

  constructor(options: RepositoryOptions, keys: Operations, stock: Repository) {
    this.#options = options;
    this.#keys = keys;
    this.#stock = stock;
  }

  overrides(): Partial<Repository> {
    return {
      decryptMessage: (given) => this.#decrypt(given.jid, given.ciphertext, this.#ofSession(given)),
      decryptGroupMessage: (given) => this.#decrypt(authorIn(given), given.msg, this.#ofGroup(given)),
      processSenderKeyDistributionMessage: (given) => this.#takeKey(given),
      encryptMessage: async (given) => {
        const step = await this.#stepOfPerson(given.jid, () => this.#stock.encryptMessage(given));
        if (!this.#options.encrypted(step.stored)) await step.stored;
        return step.result;
      },
      encryptGroupMessage: async (given) => {
        const encrypted = await this.#keys.run([senderKeyOf(given.group, given.meId)], () =>
          this.#stock.encryptGroupMessage(given),
        );
        this.#options.encrypted(Promise.resolve());
        return encrypted;
      },
      injectE2ESession: (given) => this.#ofPerson(given.jid, () => this.#stock.injectE2ESession(given)),
      migrateSession: (from, to) => this.#keys.run([from, to].map(personLock), () => this.#migrate(from, to)),
    };
  }

  /** They resolve once a message is read and its write is begun, so that the next one can be read meanwhile. */
  aheadOverrides(): Partial<Repository> {
    return {
      decryptMessage: (given) => this.#decryptAhead(given.jid, given.ciphertext, this.#ofSession(given)),
      decryptGroupMessage: (given) => this.#decryptAhead(authorIn(given), given.msg, this.#ofGroup(given)),
      processSenderKeyDistributionMessage: async (given) => {
        if (!isOfGroup(given)) return;
        const { stored } = await this.#keyStep(given);
        const name = nameOfKey(given);
        this.#taken.set(name, [...(this.#taken.get(name) ?? []), stored]);
      },
    };
  }

  #ofSession(given: Parameters<Repository['decryptMessage']>[0]): Decrypting {
    return (decryption) =>
      this.#stepOfPerson(given.jid, () => decryption(() => this.#stock.decryptMessage(given)));
  }

  #ofGroup(given: Parameters<Repository['decryptGroupMessage']>[0]): Decrypting {
    return (decryption) =>
      this.#keys.step([senderKeyOf(given.group, given.authorJid)], () =>
        decryption(() => this.#stock.decryptGroupMessage(given)),
      );
  }

  #keyStep(given: GroupKey): Promise<Step<void>> {
    return this.#keys.step([senderKeyOf(given.item.groupId ?? '', given.authorJid)], () =>
      this.#stock.processSenderKeyDistributionMessage(given),
    );
  }

  /** Once for each message: given again, it would push older keys of the author out. */
  async #takeKey(given: GroupKey): Promise<void> {
    if (!isOfGroup(given)) return;
    const name = nameOfKey(given);
    const [taken, ...further] = this.#taken.get(name) ?? [];
    if (further.length > 0) this.#taken.set(name, further);
    else this.#taken.delete(name);
    await (taken ?? (await this.#keyStep(given)).stored);
  }

  #decrypt(sender: string, ciphertext: Uint8Array, under: Decrypting): Promise<Uint8Array> {
    const read = this.#read.get(ciphertext);
    return read ?? this.#decryptOnce(nameOfCiphertext(sender, ciphertext), ciphertext, { under });
  }

  #decryptAhead(sender: string, ciphertext: Uint8Array, under: Decrypting): Promise<Uint8Array> {
    const name = nameOfCiphertext(sender, ciphertext);
    let begun!: (plaintext: Uint8Array) => void;
    const beginning = new Promise<Uint8Array>((resolve) => (begun = resolve));
    const stored = this.#decryptOnce(name, ciphertext, { under, begun });
    // Whoever asks for it hears of it.
    stored.catch(() => undefined);
    this.#read.set(ciphertext, stored);
    return Promise.race([beginning, stored]);
  }

  /**
   * It cannot be read a second time, and until it is stored nobody may be told that it came.
   * @param begun told once it is read, and is being stored
   */
  #decryptOnce(
    name: string,
    ciphertext: Uint8Array,
    { under, begun }: { under: Decrypting; begun?: (plaintext: Uint8Array) => void },
  ): Promise<Uint8Array> {
    return this.#options.journal.once(name, async () => {
      const { result, stored } = await this.#decryptStep(name, ciphertext, under);
      begun?.(result);
      await stored;
      return result;
    });
  }

  async #decryptStep(name: string, ciphertext: Uint8Array, under: Decrypting): Promise<Step<Uint8Array>> {
    const { journal, origins } = this.#options;
    let fresh: Journalled | undefined;
    const step = await under(async (decrypt) => {
      const kept = journal.get(name);
      if (kept) return kept.plaintext;
      const decrypted = await decrypt();
      const attrs = origins.attrsOf(ciphertext);
      if (attrs) {
        fresh = journal.entry(attrs, decrypted);
        await this.#keys.change({ [JOURNAL]: { [name]: fresh } });
        failpoint('engine.before-journal');
      }
      return decrypted;
    });
    return fresh ? { ...step, stored: this.#tell(name, fresh, step.stored) } : step;
  }

  /** In the order of the calls. */
  #tell(name: string, entry: Journalled, stored: Promise<void>): Promise<void> {
    const { journal, journalled } = this.#options;
    const told = Promise.all([stored, this.#told]).then(() => {
      failpoint('engine.after-journal');
      journal.keep(name, entry);
      journalled(name, entry);
    });
    this.#told = told.catch(() => undefined);
    return told;
  }

  /**
   * From a person's phone to the hidden id. Sessions may have begun under both at once, and as it comes Baileys throws
   * away what it finds under the second.
   */
  async #migrate(from: string, to: string): ReturnType<Repository['migrateSession']> {
    const user = jidDecode(from)?.user ?? '';
    const { [user]: devices = [] } = await this.#keys.get('device-list', [user]);
    const moves = movesBetween(from, to, devices);
    if (!moves) return this.#stock.migrateSession(from, to);
    const moved = await this.#sessions(moves.map(({ from: at }) => at));
    const there = moves.filter((move) => moved[move.from]);
    const into = await this.#sessions(there.map(({ to: at }) => at));
    const changes: Record<string, StoredRecord | null> = {};
    for (const move of there) {
      changes[move.to] = mergeRecords(into[move.to], moved[move.from]!, Date.now());
      changes[move.from] = null;
    }
    const migrated = Object.keys(changes).length / 2;
    if (migrated > 0) await this.#keys.change({ session: changes });
    return { migrated, skipped: moves.length - migrated, total: moves.length };
  }

  async #sessions(names: string[]): Promise<Record<string, StoredRecord | undefined>> {
    return (await this.#keys.get('session', names)) as unknown as Record<string, StoredRecord | undefined>;
  }

  async #ofPerson<T>(jid: string, work: () => Promise<T>): Promise<T> {
    const { result, stored } = await this.#stepOfPerson(jid, work);
    await stored;
    return result;
  }

  /** Under the name by which the sessions of this person are kept now. */
  async #stepOfPerson<T>(jid: string, work: () => Promise<T>): Promise<Step<T>> {
    for (;;) {
      const lock = await this.#lockOf(jid);
      const { result, stored } = await this.#keys.step([lock], async () =>
        (await this.#lockOf(jid)) === lock ? { done: await work() } : undefined,
      );
      if (result) return { result: result.done, stored };
    }
  }

  async #lockOf(jid: string): Promise<string> {
    const decoded = jidDecode(jid);
    if (decoded?.server !== 's.whatsapp.net' && decoded?.server !== 'hosted') return personLock(jid);
    const { [decoded.user]: lid } = await this.#options.store.read('lid-mapping', [decoded.user]);
    return typeof lid === 'string' ? `person ${lid}` : personLock(jid);
  }
}

const GROUP = /^[\d-]{1,60}@g\.us$|^status@broadcast$/;

const personLock = (jid: string): string => `person ${jidDecode(jid)?.user ?? jid}`;

type GroupKey = Parameters<Repository['processSenderKeyDistributionMessage']>[0];

/** Whoever writes says of which group the key is: of what is none it is never used, and would only be kept. */
const isOfGroup = ({ item }: GroupKey): boolean => GROUP.test(item.groupId ?? '');

const authorIn = ({ group, authorJid }: { group: string; authorJid: string }): string =>
  `${group} ${authorJid}`;

const nameOfKey = ({ item, authorJid }: GroupKey): string =>
  nameOfCiphertext(
    `${item.groupId} ${authorJid}`,
    item.axolotlSenderKeyDistributionMessage ?? new Uint8Array(),
  );

const senderKeyOf = (group: string, author: string): string => `sender key ${group} ${author}`;
