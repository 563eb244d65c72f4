import type { Facts } from './gather.js';
import type { Plan, Request } from './decide.js';
import type { TextCount } from './write.js';

/**
 * What this process saw lately, from which it guesses what Postgres would say. A guess is never believed: the write
 * proves what the decision was made of (see the migration), and a request whose guess was wrong is gathered for. So
 * whoever sends to contacts known here costs one statement, not two.
 */
interface KnownInstance {
  /** Whose it is: to others it does not exist. */
  accountId: string;
  facts: Facts;
}

interface KnownRecipient {
  contactId: string | null;
  conversationId: string | null;
  counted: boolean;
  lastWroteAt: number | null;
}

/** What became of a key: the request was written. */
interface KnownKey {
  /** As text: a buffer has a room of its own, many times its size. */
  bodyHash: string;
  messageId: string;
}

interface KnownText extends TextCount {
  /** The window that was counted. */
  minutes: number;
}

const STRANGER: KnownRecipient = { contactId: null, conversationId: null, counted: false, lastWroteAt: null };
const MAX_INSTANCES = 10_000;
const MAX_RECIPIENTS = 200_000;
const MAX_KEYS = 50_000;
const MAX_TEXTS = 50_000;

export class Memory {
  readonly #instances = new Map<string, KnownInstance>();
  readonly #recipients = new Map<string, KnownRecipient>();
  /** Of each account. Null: seen, and nothing more is known. */
  readonly #keys = new Map<string, Map<string, KnownKey | null>>();
  #keyCount = 0;
  readonly #texts = new Map<string, KnownText>();
  /** Of Postgres's clock, ahead of ours. */
  #clock = 0;

  /**
   * What would be gathered, where there is a fair chance to guess it: null for an instance not seen yet, a quote, a file,
   * and a key that was used before, unless by the same request and with the answer that any repeat gets.
   */
  guess(request: Request): Facts | null {
    const key = this.#look(request);
    const instance = this.#instances.get(request.instanceId);
    if (key === null || request.replyTo !== null || request.mediaId !== null) return null;
    if (instance?.accountId !== request.accountId) return null;
    const facts = this.#compose(instance.facts, this.#recipients.get(request.recipientKey) ?? STRANGER);
    if (key === undefined) return facts;
    if (request.bodyHash?.toString('latin1') !== key.bodyHash) return null;
    facts.recordHash = request.bodyHash;
    facts.recordMessage = key.messageId;
    return facts;
  }

  /** Field by field: this is paid for by every message, and copies of whole objects cost ten times as much. */
  #compose(seen: Facts, known: KnownRecipient): Facts {
    const at = Date.now() + this.#clock;
    const away = seen.state === 'connected' ? 0 : Math.max(0, at - seen.at);
    return {
      at,
      instanceVersion: seen.instanceVersion,
      state: seen.state,
      outMs: (seen.outMs ?? 0) + away,
      warmUpFrom: seen.warmUpFrom,
      restrictedUntil: seen.restrictedUntil,
      instancePolicy: seen.instancePolicy,
      accountVersion: seen.accountVersion,
      accountPolicy: seen.accountPolicy,
      accountSuspended: seen.accountSuspended,
      recordHash: null,
      recordMessage: null,
      recordResponse: null,
      contactId: known.contactId,
      optedOut: false,
      conversationId: known.conversationId,
      counted: known.counted,
      lastWroteAt: known.lastWroteAt,
      // The limits are counted at the write; here they seem to have all their room.
      newContacts: 0,
      oldestNewContact: null,
      massContacts: 0,
      massCounted: false,
      replyOk: true,
      mediaFound: false,
      mediaInstances: null,
    };
  }

  learn(request: Request, facts: Facts): void {
    this.#clock = facts.at - Date.now();
    const { contactId, conversationId, counted, lastWroteAt } = facts;
    const { accountId, instanceId } = request;
    if (facts.instanceVersion !== null)
      keep(this.#instances, instanceId, { accountId, facts }, MAX_INSTANCES);
    else if (this.#instances.get(instanceId)?.accountId === accountId) this.#instances.delete(instanceId);
    this.#learnRecipient(request, { contactId, conversationId, counted, lastWroteAt });
  }

  learnWritten(request: Request, plan: Plan, messageId: string): void {
    const { contactId, conversationId, lastWroteAt } = plan;
    const counted = plan.counted || plan.newContact !== null;
    this.#learnRecipient(request, { contactId, conversationId, counted, lastWroteAt });
    // The answer to a scheduled one is kept with its record.
    if (plan.releaseAt === null) this.#learnKey(request, messageId);
  }

  /** How many contacts its text has reached within so many minutes, at most. */
  textOf({ textKey }: Pick<Request, 'textKey'>, minutes: number): TextCount | null {
    const known = this.#texts.get(textKey);
    return known?.minutes === minutes ? known : null;
  }

  learnText({ textKey }: Pick<Request, 'textKey'>, { count, number }: TextCount, minutes: number): void {
    const known = this.#texts.get(textKey);
    if (known === undefined) keep(this.#texts, textKey, { count, number, minutes }, MAX_TEXTS);
    // An older group's answer may come later. Of one group, the contact that came last counts all.
    else if (minutes !== known.minutes || number > known.number)
      Object.assign(known, { count, number, minutes });
    else if (number === known.number) known.count = Math.max(known.count, count);
  }

  /** What is known already is left as it is: a new object for each message would grow old with the map that has it. */
  #learnRecipient({ recipientKey }: Request, known: KnownRecipient): void {
    const before = this.#recipients.get(recipientKey);
    const same =
      before?.conversationId === known.conversationId &&
      before.contactId === known.contactId &&
      before.counted === known.counted &&
      before.lastWroteAt === known.lastWroteAt;
    if (!same) keep(this.#recipients, recipientKey, known, MAX_RECIPIENTS);
  }

  /** Undefined where the key has not been used before as far as is known, null where more is to be found out. */
  #look({ accountId, key }: Request): KnownKey | null | undefined {
    if (key === null) return undefined;
    let keys = this.#keys.get(accountId);
    const known = keys?.get(key);
    if (known !== undefined) return known;
    if (this.#keyCount >= MAX_KEYS) this.#forgetKeys();
    keys = this.#keys.get(accountId);
    if (!keys) this.#keys.set(accountId, (keys = new Map<string, KnownKey | null>()));
    keys.set(key, null);
    this.#keyCount++;
    return undefined;
  }

  #learnKey({ accountId, key, bodyHash }: Request, messageId: string): void {
    const keys = key === null ? undefined : this.#keys.get(accountId);
    // Not where it has been forgotten meanwhile: then it is not counted either.
    if (key !== null && bodyHash !== null && keys?.has(key)) {
      keys.set(key, { bodyHash: bodyHash.toString('latin1'), messageId });
    }
  }

  #forgetKeys(): void {
    this.#keys.clear();
    this.#keyCount = 0;
  }
}

/** Forgetting all at once is cheap to do and soon made good. */
function keep<T>(memory: Map<string, T>, key: string, value: T, max: number): void {
  if (memory.size >= max && !memory.has(key)) memory.clear();
  memory.set(key, value);
}
