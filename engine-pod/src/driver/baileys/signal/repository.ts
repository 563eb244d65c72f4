import {
  DEFAULT_CONNECTION_CONFIG,
  jidDecode,
  type SignalRepositoryWithLIDStore as Repository,
  type SocketConfig,
} from '@whiskeysockets/baileys';
import { failpoint } from '@gwk/core/failpoints';
import type { SessionStore } from '../session/store.js';
import { JOURNAL, nameOfCiphertext, type Journal, type Journalled, type Origins } from './journal.js';
import { mergeRecords, movesBetween, type StoredRecord } from './merge.js';
import { Operations, type Step } from './operations.js';

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
    return Object.assign(stock, new SafeOperations(options, keys, { ...stock }).overrides());
  };
}

type Decrypting = (once: (decrypt: () => Promise<Uint8Array>) => Promise<Uint8Array>) => Promise<Uint8Array>;

class SafeOperations {
  readonly #options: RepositoryOptions;
  readonly #keys: Operations;
  readonly #stock: Repository;

  constructor(options: RepositoryOptions, keys: Operations, stock: Repository) {
    this.#options = options;
    this.#keys = keys;
    this.#stock = stock;
  }

  overrides(): Partial<Repository> {
    return {
      decryptMessage: (given) =>
        this.#decrypt(given.jid, given.ciphertext, (once) =>
          this.#ofPerson(given.jid, () => once(() => this.#stock.decryptMessage(given))),
        ),
      decryptGroupMessage: (given) =>
        this.#decrypt(`${given.group} ${given.authorJid}`, given.msg, (once) =>
          this.#keys.run([senderKeyOf(given.group, given.authorJid)], () =>
            once(() => this.#stock.decryptGroupMessage(given)),
          ),
        ),
      processSenderKeyDistributionMessage: (given) => this.#takeSenderKey(given),
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

  /** Whoever writes says of which group the key is: of what is none it is never used, and would only be kept. */
  async #takeSenderKey(
    given: Parameters<Repository['processSenderKeyDistributionMessage']>[0],
  ): Promise<void> {
    const group = given.item.groupId ?? '';
    if (!GROUP.test(group)) return;
    await this.#keys.run([senderKeyOf(group, given.authorJid)], () =>
      this.#stock.processSenderKeyDistributionMessage(given),
    );
  }

  /** @param under runs the decryption as one operation */
  #decrypt(sender: string, ciphertext: Uint8Array, under: Decrypting): Promise<Uint8Array> {
    const name = nameOfCiphertext(sender, ciphertext);
    // It cannot be read a second time, and until it is stored nobody may be told that it came.
    return this.#options.journal.once(name, () => this.#decryptOnce(name, ciphertext, under));
  }

  async #decryptOnce(name: string, ciphertext: Uint8Array, under: Decrypting): Promise<Uint8Array> {
    const { journal, origins, journalled } = this.#options;
    let fresh: Journalled | undefined;
    const plaintext = await under(async (decrypt) => {
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
    if (fresh) {
      failpoint('engine.after-journal');
      journal.keep(name, fresh);
      journalled(name, fresh);
    }
    return plaintext;
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
    const found = (await this.#keys.get(
      'session',
      moves.flatMap((move) => [move.from, move.to]),
    )) as unknown as Record<string, StoredRecord | undefined>;
    const changes: Record<string, StoredRecord | null> = {};
    for (const move of moves) {
      const moved = found[move.from];
      if (!moved) continue;
      changes[move.to] = mergeRecords(found[move.to], moved, Date.now());
      changes[move.from] = null;
    }
    const migrated = Object.keys(changes).length / 2;
    if (migrated > 0) await this.#keys.change({ session: changes });
    return { migrated, skipped: moves.length - migrated, total: moves.length };
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

const senderKeyOf = (group: string, author: string): string => `sender key ${group} ${author}`;
