import type { Facts } from './gather.js';
import type { Plan, Request } from './decide.js';

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

const STRANGER: KnownRecipient = { contactId: null, conversationId: null, counted: false, lastWroteAt: null };
const MAX_INSTANCES = 10_000;
const MAX_RECIPIENTS = 200_000;
const MAX_KEYS = 50_000;

export class Memory {
  readonly #instances = new Map<string, KnownInstance>();
  readonly #recipients = new Map<string, KnownRecipient>();
  readonly #keys = new Set<string>();
  /** Of Postgres's clock, ahead of ours. */
  #clock = 0;

  /**
   * What would be gathered, where there is a fair chance to guess it: null for an instance not seen yet, a key that was
   * used before, a quote and a file.
   */
  guess(request: Request): Facts | null {
    const repeated = this.#isRepeated(request);
    const instance = this.#instances.get(request.instanceId);
    if (repeated || request.replyTo !== null || request.mediaId !== null) return null;
    if (instance?.accountId !== request.accountId) return null;
    return this.#compose(instance.facts, this.#recipients.get(request.recipientKey) ?? STRANGER);
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

  learnWritten(request: Request, plan: Plan): void {
    const { contactId, conversationId, lastWroteAt } = plan;
    const counted = plan.counted || plan.newContact !== null;
    this.#learnRecipient(request, { contactId, conversationId, counted, lastWroteAt });
  }

  #learnRecipient(request: Request, known: KnownRecipient): void {
    keep(this.#recipients, request.recipientKey, known, MAX_RECIPIENTS);
  }

  #isRepeated({ accountId, key }: Request): boolean {
    if (key === null) return false;
    const name = `${accountId} ${key}`;
    if (this.#keys.has(name)) return true;
    if (this.#keys.size >= MAX_KEYS) this.#keys.clear();
    this.#keys.add(name);
    return false;
  }
}

/** Forgetting all at once is cheap to do and soon made good. */
function keep<T>(memory: Map<string, T>, key: string, value: T, max: number): void {
  if (memory.size >= max && !memory.has(key)) memory.clear();
  memory.set(key, value);
}
