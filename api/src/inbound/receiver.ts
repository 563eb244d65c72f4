import { Batcher } from '@gwk/core/batcher';
import type { Logger } from '@gwk/core/log';
import type { Policy, PolicyOverrides } from '@gwk/core/policy/policy';
import type { Sealer } from '@gwk/core/encryption';
import { linkNames } from '../contacts/contacts.js';
import type { Database } from '../database/database.js';
import { fence } from '../engines/fence.js';
import { isUndone } from '../database/grouping.js';
import { RefusalError, type LeaseRefusal } from '../engines/refusal.js';
import { PolicyResolver } from '../messages/policies.js';
import { messageMetrics } from '../platform/metrics/messages.js';
import { arrivalOf, namesToLink, type Arrival, type InboundItem } from './arrival.js';
import { decide, type Meaning, type Word } from './decide.js';
import { gather, type Known } from './gather.js';
import { Turns } from './turns.js';
import { receiveWord } from './words.js';
import { write, type Entry, type Result } from './write.js';

declare module '../http/services.js' {
  interface Services {
    /** Receives the inbound messages that consumers post to sandbox instances. */
    receiver: Receiver;
  }
}

/**
 * What comes in, in groups over all instances: what is known of the conversations is gathered, what each message means is
 * decided by pure functions, and all is written in one statement that proves, under locks, that what was decided on
 * still holds. What the world moved under is gathered and decided again.
 *
 * Two kinds of messages are rare and go another way: one that tells that two contacts are one links them first; an
 * opt-out or resume word is written in a transaction of its own.
 */
export interface ReceiverDeps {
  database: Database;
  sealer: Sealer;
  log: Logger;
  environmentPolicy: PolicyOverrides;
}

/** `dropped`: it means nothing here. */
export interface Received {
  refusal: LeaseRefusal;
  result: Exclude<Result, 'fenced' | 'gone' | 'retry'> | 'dropped';
}

const MAX_TRIES = 20;
/** Transactions of words under way at once. */
const WORDS_AT_ONCE = 4;

type Done = Exclude<Result, 'retry'> | 'dropped';

/** Of a group: what became of an item, or that it is a word, to be written apart. */
type Outcome = { kind: 'done'; result: Done } | { kind: 'word'; arrival: Arrival };

export class Receiver {
  readonly #deps: ReceiverDeps;
  readonly #policies: PolicyResolver;
  readonly #groups: Batcher<InboundItem, Outcome>;
  readonly #words = new Turns(WORDS_AT_ONCE);

  constructor(deps: ReceiverDeps) {
    this.#deps = deps;
    this.#policies = new PolicyResolver(deps.environmentPolicy);
    this.#groups = new Batcher({ run: (items) => this.#receiveAll(items), mayIsolate: isUndone });
  }

  async receive(item: InboundItem): Promise<Received> {
    const received = await this.#receive(item);
    if (received.result === 'written') messageMetrics.received(item.message.type);
    return received;
  }

  async #receive(item: InboundItem): Promise<Received> {
    const outcome = await this.#groups.submit(item);
    if (outcome.kind === 'done') return receivedAs(outcome.result);
    const { arrival } = outcome;
    // A queue that fails may be long: nobody waits for it but what comes after it in the conversation.
    const key = `${arrival.instanceId} ${arrival.chat.name}`;
    return receivedAs(await this.#words.take(key, () => this.#receiveApart(arrival)));
  }

  async #receiveAll(items: readonly InboundItem[]): Promise<Outcome[]> {
    const outcomes = items.map((): Outcome => ({ kind: 'done', result: 'dropped' }));
    let open = items.flatMap((item, index) => this.#arrivalsOf(item, index + 1));
    let fruitless = 0;
    while (open.length > 0) {
      const again: Arrival[] = [];
      for (const [arrival, outcome] of await this.#turn(open)) {
        if (outcome === 'retry') again.push(arrival);
        else outcomes[arrival.place - 1] = outcome;
      }
      fruitless = again.length < open.length ? 0 : fruitless + 1;
      checkPatience(fruitless);
      open = again;
    }
    return outcomes;
  }

  #arrivalsOf(item: InboundItem, place: number): Arrival[] {
    const arrival = arrivalOf(item, place);
    if (arrival) return [arrival];
    this.#deps.log.info(
      { instance: item.instanceId, type: item.message.type },
      'a message of no conversation',
    );
    return [];
  }

  /** One try at each. */
  async #turn(arrivals: readonly Arrival[]): Promise<Map<Arrival, Outcome | 'retry'>> {
    const { database, sealer } = this.#deps;
    const outcomes = new Map<Arrival, Outcome | 'retry'>();
    const entries: Entry[] = [];
    const answered = new Set<string>();
    for (const [index, known] of (await this.#gatherLinked(arrivals)).entries()) {
      const arrival = arrivals[index]!;
      const meaning = this.#decide(arrival, known);
      if (meaning === null) outcomes.set(arrival, { kind: 'done', result: 'dropped' });
      else if (meaning.word) outcomes.set(arrival, { kind: 'word', arrival });
      else if (mayAnswer(meaning, answered)) entries.push({ arrival, known, meaning });
      else outcomes.set(arrival, 'retry');
    }
    const written = entries.length > 0 ? await write(database, sealer, entries) : [];
    written.forEach(({ result }, place) => {
      outcomes.set(entries[place]!.arrival, result === 'retry' ? 'retry' : { kind: 'done', result });
    });
    return outcomes;
  }

  /** A word, decided again with every try: it may have been one no more by then. */
  async #receiveApart(arrival: Arrival): Promise<Done> {
    const { database, sealer } = this.#deps;
    for (let fruitless = 0; ; fruitless++) {
      checkPatience(fruitless);
      const [known] = await gather(database, sealer, [arrival]);
      const meaning = this.#decide(arrival, known!);
      if (meaning === null) return 'dropped';
      const entry = { arrival, known: known!, meaning };
      const result = meaning.word
        ? await this.#receiveWord(entry, meaning.word)
        : (await write(database, sealer, [entry]))[0]!.result;
      if (result !== 'retry') return result;
    }
  }

  async #receiveWord(entry: Entry, word: Word): Promise<Result> {
    try {
      return await receiveWord(this.#deps, entry, word);
    } catch (error) {
      if (error instanceof RefusalError) return error.refusal as 'fenced' | 'gone';
      throw error;
    }
  }

  #decide(arrival: Arrival, known: Known): Meaning | null {
    const meaning = decide(arrival, known, this.#policyFor(known));
    if (meaning === null) {
      this.#deps.log.info({ instance: arrival.instanceId }, 'a vote in a poll that is not known');
    }
    return meaning;
  }

  #policyFor({ accountPolicy, instancePolicy }: Known): Policy | null {
    if (accountPolicy === null) return null;
    // How many new contacts a number may write to is no matter here.
    return this.#policies.resolve({ accountPolicy, instancePolicy, warmUpFrom: 0, at: 0 });
  }

  async #gatherLinked(arrivals: readonly Arrival[]): Promise<Known[]> {
    const { database, sealer } = this.#deps;
    const known = await gather(database, sealer, arrivals);
    let linked = false;
    for (const [index, arrival] of arrivals.entries()) {
      const { accountId } = known[index]!;
      const names = namesToLink(arrival, known[index]!);
      if (names === null || accountId === null) continue;
      linked = (await this.#link(arrival, accountId, names)) || linked;
    }
    return linked ? gather(database, sealer, arrivals) : known;
  }

  /** What a fenced engine has heard is left to the next one. */
  async #link({ instanceId, lease }: Arrival, accountId: string, names: [string, string]): Promise<boolean> {
    try {
      await linkNames(this.#deps, accountId, names, async (tx) => {
        if (lease) await fence(tx, instanceId, lease);
      });
      return true;
    } catch (error) {
      if (error instanceof RefusalError) return false;
      throw error;
    }
  }
}

/** Of a group, the first answer to a menu is decided now, those after it once that one is written. */
function mayAnswer({ answer, vote }: Meaning, answered: Set<string>): boolean {
  const menu = answer?.menuId ?? null;
  const ballot = vote && `${vote.pollId} ${vote.voter}`;
  if ((answer?.typed && menu && answered.has(menu)) || (ballot && answered.has(ballot))) return false;
  if (menu) answered.add(menu);
  if (ballot) answered.add(ballot);
  return true;
}

function checkPatience(fruitless: number): void {
  if (fruitless > MAX_TRIES) throw new Error('conversations keep changing while messages come in');
}

function receivedAs(result: Done): Received {
  return result === 'fenced' || result === 'gone'
    ? { refusal: result, result: 'dropped' }
    : { refusal: null, result };
}
