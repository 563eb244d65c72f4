import { Batcher } from '@gwk/core/batcher';
import type { Logger } from '@gwk/core/log';
import type { Policy, PolicyOverrides } from '@gwk/core/policy/policy';
import type { Sealer } from '@gwk/core/sealing';
import { linkNames } from '../contacts/contacts.js';
import type { Database } from '../database.js';
import { fence } from '../internal/fence.js';
import { isUndone } from '../internal/grouping.js';
import { RefusalError, type Verdict } from '../internal/refusal.js';
import { Policies } from '../messages/accept/policies.js';
import { arrivalOf, namesToLink, type Arrival, type InboundItem } from './arrival.js';
import { decide } from './decide.js';
import { gather, type Known } from './gather.js';
import { receiveWord } from './words.js';
import { write, type Entry, type Result } from './write.js';

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
  verdict: Verdict;
  result: Exclude<Result, 'fenced' | 'gone' | 'again'> | 'dropped';
}

const MAX_TRIES = 20;
const DROPPED: Received = { verdict: null, result: 'dropped' };

export class Receiver {
  readonly #deps: ReceiverDeps;
  readonly #policies: Policies;
  readonly #groups: Batcher<InboundItem, Received>;

  constructor(deps: ReceiverDeps) {
    this.#deps = deps;
    this.#policies = new Policies(deps.environmentPolicy);
    this.#groups = new Batcher({ run: (items) => this.#receiveAll(items), mayIsolate: isUndone });
  }

  receive(item: InboundItem): Promise<Received> {
    return this.#groups.submit(item);
  }

  async #receiveAll(items: readonly InboundItem[]): Promise<Received[]> {
    const answers = items.map(() => DROPPED);
    let open = items.flatMap((item, index) => this.#arrivalsOf(item, index + 1));
    let fruitless = 0;
    while (open.length > 0) {
      const results = await this.#turn(open);
      const again: Arrival[] = [];
      open.forEach((arrival, index) => {
        const result = results[index]!;
        if (result === 'again') again.push(arrival);
        else answers[arrival.place - 1] = receivedAs(result);
      });
      fruitless = again.length < open.length ? 0 : fruitless + 1;
      if (fruitless > MAX_TRIES) throw new Error('conversations keep changing while messages come in');
      open = again;
    }
    return answers;
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
  async #turn(arrivals: readonly Arrival[]): Promise<(Result | 'dropped')[]> {
    const { database, sealer } = this.#deps;
    const known = await this.#gatherLinked(arrivals);
    const results: (Result | 'dropped')[] = arrivals.map(() => 'again');
    const ordinary: { entry: Entry; index: number }[] = [];
    const words: { entry: Entry; index: number }[] = [];
    const answered = new Set<string>();
    arrivals.forEach((arrival, index) => {
      const facts = known[index]!;
      const meaning = decide(arrival, facts, this.#policyFor(facts));
      if (meaning === null) {
        results[index] = 'dropped';
        this.#deps.log.info({ instance: arrival.instanceId }, 'a vote in a poll that is not known');
        return;
      }
      const { answer, vote } = meaning;
      // Of a group, the first answer to a menu is decided now, those after it once it is written.
      const claims = [answer?.typed && answer.menuId, vote && `${vote.pollId} ${vote.voter}`].filter(Boolean);
      if (claims.some((claim) => answered.has(claim as string))) return;
      for (const claim of [...claims, answer?.menuId]) if (claim) answered.add(claim);
      (meaning.word ? words : ordinary).push({ entry: { arrival, known: facts, meaning }, index });
    });
    if (ordinary.length > 0) {
      const written = await write(
        database,
        sealer,
        ordinary.map(({ entry }) => entry),
      );
      ordinary.forEach(({ index }, place) => (results[index] = written[place]!.result));
    }
    for (const { entry, index } of words) results[index] = await this.#receiveWord(entry);
    return results;
  }

  async #receiveWord(entry: Entry): Promise<Result> {
    try {
      return await receiveWord(this.#deps, entry, entry.meaning.word!);
    } catch (error) {
      if (error instanceof RefusalError) return error.refusal as 'fenced' | 'gone';
      throw error;
    }
  }

  #policyFor({ accountPolicy, instancePolicy }: Known): Policy | null {
    if (accountPolicy === null) return null;
    // How many new contacts a number may write to is no matter here.
    return this.#policies.of({ accountPolicy, instancePolicy, warmUpFrom: 0, at: 0 });
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

function receivedAs(result: Exclude<Result, 'again'> | 'dropped'): Received {
  return result === 'fenced' || result === 'gone'
    ? { verdict: result, result: 'dropped' }
    : { verdict: null, result };
}
