import type { Facts } from './gather.js';
import type { Plan, Request } from './decide.js';
import { KnownKeys } from './known-keys.js';
import { Recent } from './recent.js';
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

interface KnownText extends TextCount {
  /** The window that was counted. */
  minutes: number;
}

const STRANGER: KnownRecipient = { contactId: null, conversationId: null, counted: false, lastWroteAt: null };
/** Of instances, recipients and texts so many are known for certain, and up to twice as many held. */
export interface MemorySizes {
  instances: number;
  recipients: number;
  /** As templates of all instances are, in their variants: of what is forgotten, Postgres counts the contacts each time. */
  texts: number;
  /** So many are held. A repeat of one that was forgotten seems a first request: its group is undone, and written with care. */
  keys: number;
}

const SIZES: MemorySizes = { instances: 10_000, recipients: 200_000, texts: 50_000, keys: 65_536 };

export class Memory {
  readonly #instances: Recent<KnownInstance>;
  readonly #recipients: Recent<KnownRecipient>;
  readonly #keys: KnownKeys;
  readonly #texts: Recent<KnownText>;
  /** Of Postgres's clock, ahead of ours. */
  #clock = 0;

  constructor(sizes: MemorySizes = SIZES) {
    this.#instances = new Recent(sizes.instances);
    this.#recipients = new Recent(sizes.recipients);
    this.#keys = new KnownKeys(sizes.keys);
    this.#texts = new Recent(sizes.texts);
  }

  /**
   * What would be gathered, where there is a fair chance to guess it: null for an instance not seen yet, a quote, a file,
   * and a key that was used before, unless by the same request and with the answer that any repeat gets.
   */
  guess(request: Request): Facts | null {
    const { recordId, bodyHash } = request;
    const isNew = recordId === null || this.#keys.meet(recordId);
    const instance = this.#instances.get(request.instanceId);
    if (request.replyTo !== null || request.mediaId !== null) return null;
    if (instance?.accountId !== request.accountId) return null;
    const facts = this.#compose(instance.facts, this.#recipients.get(request.recipientKey) ?? STRANGER);
    if (isNew) return facts;
    const messageId = this.#keys.messageOf(recordId, bodyHash!);
    if (messageId === null) return null;
    facts.recordHash = bodyHash;
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
      offlineMs: (seen.offlineMs ?? 0) + away,
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

  /** Of an instance that is not the account's nothing is learned: its recipients are known by its owner's contacts. */
  learn(request: Request, facts: Facts): void {
    this.#clock = facts.at - Date.now();
    const { contactId, conversationId, counted, lastWroteAt } = facts;
    const { accountId, instanceId } = request;
    if (facts.instanceVersion === null) {
      if (this.#instances.get(instanceId)?.accountId === accountId) this.#instances.delete(instanceId);
      return;
    }
    this.#instances.set(instanceId, { accountId, facts });
    this.#learnRecipient(request, { contactId, conversationId, counted, lastWroteAt });
  }

  learnWritten(request: Request, plan: Plan, messageId: string): void {
    const { contactId, conversationId, lastWroteAt } = plan;
    const counted = plan.counted || plan.newContact !== null;
    this.#learnRecipient(request, { contactId, conversationId, counted, lastWroteAt });
    // The answer to a scheduled one is kept with its record.
    const { recordId, bodyHash } = request;
    if (recordId !== null && plan.releaseAt === null) this.#keys.learn(recordId, bodyHash!, messageId);
  }

  /** How many contacts the text has reached within so many minutes, at most. */
  textOf(fingerprint: string, minutes: number): TextCount | null {
    const known = this.#texts.get(fingerprint);
    return known?.minutes === minutes ? known : null;
  }

  learnText(fingerprint: string, { count, number }: TextCount, minutes: number): void {
    const known = this.#texts.get(fingerprint);
    if (known === undefined) this.#texts.set(fingerprint, { count, number, minutes });
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
    if (!same) this.#recipients.set(recipientKey, known);
  }
}
