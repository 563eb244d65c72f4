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

/** What became of a key, as far as is known: null until a request with it was written. */
export interface KnownKey {
  /** As text: a buffer has a room of its own, many times its size. */
  bodyHash: string | null;
  messageId: string | null;
}

/** A request that was guessed for keeps what is known of its key: looking for it again costs more than keeping it. */
export type Guessed = Request & { record?: KnownKey | null };

interface KnownText extends TextCount {
  /** The window that was counted. */
  minutes: number;
}

const STRANGER: KnownRecipient = { contactId: null, conversationId: null, counted: false, lastWroteAt: null };
const MAX_INSTANCES = 10_000;
const MAX_RECIPIENTS = 200_000;
const MAX_KEYS = 50_000;
/** As templates of all instances are, in their variants: of what is forgotten, Postgres counts the contacts each time. */
const MAX_TEXTS = 50_000;

export class Memory {
  readonly #instances = new Map<string, KnownInstance>();
  readonly #recipients = new Map<string, KnownRecipient>();
  /** By the ids of their records. */
  readonly #keys = new Map<string, KnownKey>();
  readonly #texts = new Map<string, KnownText>();
  /** Of Postgres's clock, ahead of ours. */
  #clock = 0;

  /**
   * What would be gathered, where there is a fair chance to guess it: null for an instance not seen yet, a quote, a file,
   * and a key that was used before, unless by the same request and with the answer that any repeat gets.
   */
  guess(request: Guessed): Facts | null {
    const isNew = this.#look(request);
    const instance = this.#instances.get(request.instanceId);
    if (request.replyTo !== null || request.mediaId !== null) return null;
    if (instance?.accountId !== request.accountId) return null;
    const facts = this.#compose(instance.facts, this.#recipients.get(request.recipientKey) ?? STRANGER);
    if (isNew) return facts;
    const { bodyHash, messageId } = request.record!;
    if (messageId === null || request.bodyHash?.toString('latin1') !== bodyHash) return null;
    facts.recordHash = request.bodyHash;
    facts.recordMessage = messageId;
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

  learnWritten(request: Guessed, plan: Plan, messageId: string): void {
    const { contactId, conversationId, lastWroteAt } = plan;
    const counted = plan.counted || plan.newContact !== null;
    this.#learnRecipient(request, { contactId, conversationId, counted, lastWroteAt });
    // The answer to a scheduled one is kept with its record.
    const { record, bodyHash } = request;
    if (record && plan.releaseAt === null) {
      record.bodyHash = bodyHash?.toString('latin1') ?? null;
      record.messageId = messageId;
    }
  }

  /** How many contacts the text has reached within so many minutes, at most. */
  textOf(fingerprint: string, minutes: number): TextCount | null {
    const known = this.#texts.get(fingerprint);
    return known?.minutes === minutes ? known : null;
  }

  learnText(fingerprint: string, { count, number }: TextCount, minutes: number): void {
    const known = this.#texts.get(fingerprint);
    if (known === undefined) keep(this.#texts, fingerprint, { count, number, minutes }, MAX_TEXTS);
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

  /** @returns whether there is no key, or one that has not been used before as far as is known */
  #look(request: Guessed): boolean {
    const { recordId } = request;
    if (recordId === null) return true;
    const known = this.#keys.get(recordId);
    request.record = known ?? { bodyHash: null, messageId: null };
    if (known !== undefined) return false;
    keep(this.#keys, recordId, request.record, MAX_KEYS);
    return true;
  }
}

/** Forgetting all at once is cheap to do and soon made good. */
function keep<T>(memory: Map<string, T>, key: string, value: T, max: number): void {
  if (memory.size >= max && !memory.has(key)) memory.clear();
  memory.set(key, value);
}
