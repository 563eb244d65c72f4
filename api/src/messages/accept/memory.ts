import type { Facts } from './gather.js';
import type { Plan, Request } from './decide.js';

/**
 * What this process saw lately, from which it guesses what Postgres would say. A guess is never believed: the write
 * proves what the decision was made of (see the migration), and a request whose guess was wrong is gathered for. So
 * whoever sends to contacts known here costs one statement, not two.
 */
type OfInstance = Pick<
  Facts,
  | 'at'
  | 'instanceVersion'
  | 'state'
  | 'outMs'
  | 'warmUpFrom'
  | 'restrictedUntil'
  | 'instancePolicy'
  | 'accountVersion'
  | 'accountPolicy'
  | 'accountSuspended'
>;
type OfRecipient = Pick<Facts, 'contactId' | 'conversationId' | 'counted' | 'lastWroteAt'>;

const STRANGER: OfRecipient = { contactId: null, conversationId: null, counted: false, lastWroteAt: null };
const MAX_INSTANCES = 10_000;
const MAX_RECIPIENTS = 200_000;
const MAX_KEYS = 50_000;

export class Memory {
  readonly #instances = new Map<string, OfInstance>();
  readonly #recipients = new Map<string, OfRecipient>();
  readonly #keys = new Set<string>();
  /** Of Postgres's clock, ahead of ours. */
  #clock = 0;

  /**
   * What would be gathered, where there is a fair chance to guess it: null for an instance not seen yet, a key that was
   * used before, and a quote.
   */
  guess(request: Request): Facts | null {
    const repeated = this.#isRepeated(request);
    const ofInstance = this.#instances.get(instanceKey(request));
    if (repeated || request.replyTo !== null || !ofInstance?.instanceVersion) return null;
    const at = Date.now() + this.#clock;
    const away = ofInstance.state === 'connected' ? 0 : Math.max(0, at - ofInstance.at);
    return {
      ...ofInstance,
      ...(this.#recipients.get(recipientKey(request)) ?? STRANGER),
      at,
      outMs: (ofInstance.outMs ?? 0) + away,
      ...UNCOUNTED,
    };
  }

  learn(request: Request, facts: Facts): void {
    this.#clock = facts.at - Date.now();
    const { contactId, conversationId, counted, lastWroteAt } = facts;
    keep(this.#instances, instanceKey(request), pickInstance(facts), MAX_INSTANCES);
    this.#learnRecipient(request, { contactId, conversationId, counted, lastWroteAt });
  }

  learnWritten(request: Request, plan: Plan): void {
    const { contactId, conversationId, lastWroteAt } = plan;
    const counted = plan.counted || plan.newContact !== null;
    this.#learnRecipient(request, { contactId, conversationId, counted, lastWroteAt });
  }

  #learnRecipient(request: Request, known: OfRecipient): void {
    keep(this.#recipients, recipientKey(request), known, MAX_RECIPIENTS);
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

/** The limits are counted at the write; here they seem to have all their room. */
const UNCOUNTED = {
  recordHash: null,
  recordMessage: null,
  recordResponse: null,
  optedOut: false,
  newContacts: 0,
  oldestNewContact: null,
  massContacts: 0,
  massCounted: false,
  replyOk: true,
} satisfies Partial<Facts>;

const instanceKey = ({ accountId, instanceId }: Request) => `${accountId} ${instanceId}`;
const recipientKey = ({ instanceId, recipient }: Request) => `${instanceId} ${recipient.name}`;

function pickInstance(facts: Facts): OfInstance {
  return {
    at: facts.at,
    instanceVersion: facts.instanceVersion,
    state: facts.state,
    outMs: facts.outMs,
    warmUpFrom: facts.warmUpFrom,
    restrictedUntil: facts.restrictedUntil,
    instancePolicy: facts.instancePolicy,
    accountVersion: facts.accountVersion,
    accountPolicy: facts.accountPolicy,
    accountSuspended: facts.accountSuspended,
  };
}

/** Forgetting all at once is cheap to do and soon made good. */
function keep<T>(memory: Map<string, T>, key: string, value: T, max: number): void {
  if (memory.size >= max && !memory.has(key)) memory.clear();
  memory.set(key, value);
}
