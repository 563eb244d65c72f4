import { KeyedLock } from '@gwk/core/async/keyed-lock';
import { Batcher } from '../platform/batcher.js';
import pLimit from 'p-limit';
import type { Logger } from '@gwk/core/process/log';
import type { Policy, PolicyOverrides } from '../policy/policy.js';
import type { LinkedNames } from '@gwk/core/ids/recipients';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { changeContact, linkNames, type Transaction } from '../contacts/contacts.js';
import { storeUsername } from '../contacts/usernames.js';
import type { Database } from '../database/database.js';
import { fence } from '../fencing/fence.js';
import { isRolledBack } from '../database/grouping.js';
import { RefusalError } from '../fencing/refusal.js';
import { PolicyResolver } from '../messages/policies.js';
import { messageMetrics } from '../platform/metrics/messages.js';
import { findRenamed, parseArrival, namesToLink, type Arrival, type InboundItem } from './arrival.js';
import { decide, type Meaning, type Word } from './decide.js';
import { gather, type Known } from './gather.js';
import { identifyContact } from './subject.js';
import { receiveWord } from './words.js';
import { write, type Entry, type Result } from './write.js';

declare module '../http/services.js' {
  interface Services {
    /** Receives the inbound messages that consumers post to sandbox instances. */
    receiver: Receiver;
  }
}

interface ReceiverDeps {
  database: Database;
  sealer: Sealer;
  log: Logger;
  environmentPolicy: PolicyOverrides;
}

const MAX_ATTEMPTS = 20;
/** Concurrent transactions of opt-out and opt-in words. */
const WORDS_AT_ONCE = 4;

/** `dropped`: the message has no effect. */
export type Received = Exclude<Result, 'retry'> | 'dropped';

/** `word`: an opt-out or opt-in word, which is received separately. */
type Outcome = Received | 'word';

/** Writes an opt-out or opt-in word, or leaves it to `#receiveSeparately`. */
type WriteWord = (entry: Entry, word: Word) => Promise<Outcome | 'retry'>;

/**
 * Receives inbound messages in batches over all instances: gathers the facts of the conversations, decides each message with
 * pure functions, and writes all with one statement that verifies the facts under locks. Messages whose facts are stale are
 * gathered and decided again.
 *
 * Two rare kinds take another path: a message that shows that two contacts are one links them first, and an opt-out or opt-in
 * word is written in its own transaction.
 */
export class Receiver {
  readonly #deps: ReceiverDeps;
  readonly #policies: PolicyResolver;
  readonly #batcher: Batcher<InboundItem, Outcome>;
  readonly #conversations = new KeyedLock();
  readonly #limit = pLimit(WORDS_AT_ONCE);

  constructor(deps: ReceiverDeps) {
    this.#deps = deps;
    this.#policies = new PolicyResolver(deps.environmentPolicy);
    this.#batcher = new Batcher({
      run: (items) => this.#receiveAll(items, () => Promise.resolve('word')),
      mayIsolate: isRolledBack,
    });
  }

  async receive(item: InboundItem): Promise<Received> {
    let received = await this.#batcher.submit(item);
    if (received === 'word') {
      // Failing a long queue takes time, so only later messages of the same conversation wait for it.
      const key = `${item.instanceId} ${item.message.chat}`;
      received = await this.#conversations.run(key, () => this.#limit(() => this.#receiveSeparately(item)));
    }
    if (received === 'written') messageMetrics.received(item.message.type);
    return received;
  }

  /** Decides the message again with every attempt, because it may no longer be a word. */
  async #receiveSeparately(item: InboundItem): Promise<Received> {
    const [received] = await this.#receiveAll([item], (entry, word) => this.#writeWord(entry, word));
    return received as Received;
  }

  async #receiveAll(items: readonly InboundItem[], writeWord: WriteWord): Promise<Outcome[]> {
    const outcomes = items.map((): Outcome => 'dropped');
    let open = items.flatMap((item, index) => this.#arrivalsOf(item, index + 1));
    for (let fruitless = 0; open.length > 0;) {
      const stale: Arrival[] = [];
      for (const [arrival, outcome] of await this.#attempt(open, writeWord)) {
        if (outcome === 'retry') stale.push(arrival);
        else outcomes[arrival.place - 1] = outcome;
      }
      fruitless = stale.length < open.length ? 0 : fruitless + 1;
      if (fruitless > MAX_ATTEMPTS) {
        throw new Error('inbound messages not written: conversations keep changing');
      }
      open = stale;
    }
    return outcomes;
  }

  #arrivalsOf(item: InboundItem, place: number): Arrival[] {
    const arrival = parseArrival(item, place);
    if (arrival) return [arrival];
    this.#logIgnored(item, 'no_conversation');
    return [];
  }

  /** Counts and logs it, without its content. */
  #logIgnored({ instanceId, message: { type, change } }: InboundItem, reason: string): void {
    messageMetrics.ignored(reason);
    const fields = { instance: instanceId, type: change?.kind ?? type, reason };
    this.#deps.log.info(fields, 'inbound message ignored');
  }

  /** Makes one attempt for each message. */
  async #attempt(
    arrivals: readonly Arrival[],
    writeWord: WriteWord,
  ): Promise<Map<Arrival, Outcome | 'retry'>> {
    const { database, sealer } = this.#deps;
    const outcomes = new Map<Arrival, Outcome | 'retry'>();
    const entries: Entry[] = [];
    const answered = new Set<string>();
    for (const [index, known] of (await this.#gatherLinked(arrivals)).entries()) {
      const arrival = arrivals[index]!;
      const meaning = decide(arrival, known, this.#policyFor(known));
      if (typeof meaning === 'string') {
        this.#logIgnored(arrival, meaning);
        outcomes.set(arrival, 'dropped');
      } else if (meaning.word) {
        outcomes.set(arrival, await writeWord({ arrival, known, meaning }, meaning.word));
      } else if (mayAnswer(meaning, answered)) entries.push({ arrival, known, meaning });
      else outcomes.set(arrival, 'retry');
    }
    const written = entries.length > 0 ? await write(database.queryRows, sealer, entries) : [];
    written.forEach(({ result }, place) => outcomes.set(entries[place]!.arrival, result));
    return outcomes;
  }

  async #writeWord(entry: Entry, word: Word): Promise<Result> {
    try {
      return await receiveWord(this.#deps, entry, word);
    } catch (error) {
      if (error instanceof RefusalError) return error.refusal as 'fenced' | 'gone';
      throw error;
    }
  }

  #policyFor({ accountPolicy, instancePolicy }: Known): Policy | null {
    if (accountPolicy === null) return null;
    // The limit of new contacts does not matter here, so the warm-up does not either.
    return this.#policies.resolve({ accountPolicy, instancePolicy, warmUpFrom: 0, at: 0 });
  }

  async #gatherLinked(arrivals: readonly Arrival[]): Promise<Known[]> {
    const { database, sealer } = this.#deps;
    const known = await gather(database, sealer, arrivals);
    let linked = false;
    for (const [index, arrival] of arrivals.entries()) {
      const { accountId } = known[index]!;
      if (accountId === null) continue;
      const names = namesToLink(arrival, known[index]!);
      if (names === null) await this.#storeUsername(arrival, known[index]!, accountId);
      else linked = (await this.#link(arrival, accountId, names)) || linked;
    }
    return linked ? gather(database, sealer, arrivals) : known;
  }

  /** Links two names. If the engine is fenced or changes too many contacts, a later message links them. */
  async #link(arrival: Arrival, accountId: string, names: LinkedNames): Promise<boolean> {
    const { instanceId, message, at } = arrival;
    const stated = message.username === undefined ? null : { username: message.username, at };
    const seen = { accountId, instanceId, ...names, stated };
    try {
      return await linkNames(this.#deps, seen, async (tx) => {
        await this.#fence(tx, arrival);
        return true;
      });
    } catch (error) {
      if (error instanceof RefusalError) return false;
      throw error;
    }
  }

  async #storeUsername(arrival: Arrival, known: Known, accountId: string): Promise<void> {
    const renamed = findRenamed(arrival, known);
    if (renamed === null) return;
    const { instanceId, message, at } = arrival;
    const seen = { ...renamed, username: message.username!, at, ids: identifyContact(arrival, known) };
    try {
      await changeContact(this.#deps.database, async (tx) => {
        await this.#fence(tx, arrival);
        await storeUsername(tx, this.#deps.sealer, { accountId, instanceId }, seen);
      });
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
    }
  }

  async #fence(tx: Transaction, { instanceId, lease }: Arrival): Promise<void> {
    if (lease) await fence(tx, instanceId, lease);
  }
}

/** Per batch, the first answer to a menu is decided now; later ones wait until it is written. */
function mayAnswer({ answer, vote }: Meaning, answered: Set<string>): boolean {
  const menu = answer?.menuId ?? null;
  // Votes name their voter by phone number, by LID or by both.
  const ballots = vote ? vote.voters.map((voter) => `${vote.pollId} ${voter}`) : [];
  if (answer?.typed && menu && answered.has(menu)) return false;
  if (ballots.some((ballot) => answered.has(ballot))) return false;
  for (const each of [...(menu ? [menu] : []), ...ballots]) answered.add(each);
  return true;
}
