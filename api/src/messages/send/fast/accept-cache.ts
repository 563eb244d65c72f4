import type { Facts } from '../gather.js';
import type { SendRequest, WritePlan } from '../decide.js';
import { RecentMap } from './recent-map.js';
import type { TextCount } from '../write.js';

interface CachedInstance {
  /** The owner. For other accounts the instance does not exist. */
  accountId: string;
  facts: Facts;
}

interface CachedRecipient {
  contactId: string | null;
  conversationId: string | null;
  counted: boolean;
  lastWroteAt: number | null;
}

interface CachedText extends TextCount {
  /** Window of the count. */
  minutes: number;
}

const UNKNOWN_RECIPIENT: CachedRecipient = {
  contactId: null,
  conversationId: null,
  counted: false,
  lastWroteAt: null,
};

/** Entries of instances, recipients and texts that are certainly kept; each map holds up to twice as many. */
interface CacheSizes {
  instances: number;
  recipients: number;
  /** Enough for the templates of all instances. Postgres counts the contacts of other texts at each send. */
  texts: number;
}

const SIZES: CacheSizes = { instances: 10_000, recipients: 200_000, texts: 50_000 };

/**
 * Predicts the facts of a request from those that this process has read or written before. The write verifies each
 * prediction under locks, so the cache needs no invalidation. A send to a cached recipient takes one statement, not two.
 */
export class AcceptCache {
  readonly #instances: RecentMap<CachedInstance>;
  readonly #recipients: RecentMap<CachedRecipient>;
  readonly #texts: RecentMap<CachedText>;
  /** Clock of Postgres minus clock of this process. */
  #clockOffsetMs = 0;

  constructor(sizes: CacheSizes = SIZES) {
    this.#instances = new RecentMap(sizes.instances);
    this.#recipients = new RecentMap(sizes.recipients);
    this.#texts = new RecentMap(sizes.texts);
  }

  /** Returns null where the facts have to be read: for an unknown instance, a quote or a media file. */
  predict(request: SendRequest): Facts | null {
    const instance = this.#instances.get(request.instanceId);
    if (request.replyTo !== null || request.mediaId !== null) return null;
    if (instance?.accountId !== request.accountId) return null;
    const recipient = this.#recipients.get(request.recipientKey) ?? UNKNOWN_RECIPIENT;
    return this.#composeFacts(instance.facts, recipient);
  }

  /** Copies field by field. This runs for every message, and spreading whole objects takes ten times as long. */
  #composeFacts(instance: Facts, recipient: CachedRecipient): Facts {
    const at = Date.now() + this.#clockOffsetMs;
    const offlineSinceReadMs = instance.state === 'connected' ? 0 : Math.max(0, at - instance.at);
    return {
      at,
      instanceVersion: instance.instanceVersion,
      state: instance.state,
      offlineMs: (instance.offlineMs ?? 0) + offlineSinceReadMs,
      warmUpFrom: instance.warmUpFrom,
      restrictedUntil: instance.restrictedUntil,
      instancePolicy: instance.instancePolicy,
      accountVersion: instance.accountVersion,
      accountPolicy: instance.accountPolicy,
      accountSuspended: instance.accountSuspended,
      recordHash: null,
      recordMessage: null,
      recordResponse: null,
      contactId: recipient.contactId,
      optedOut: false,
      conversationId: recipient.conversationId,
      counted: recipient.counted,
      lastWroteAt: recipient.lastWroteAt,
      // Assumes full headroom: the write counts the limits.
      newContacts: 0,
      oldestNewContact: null,
      massContacts: 0,
      massCounted: false,
      replyOk: true,
      mediaFound: false,
      mediaInstances: null,
    };
  }

  /** Ignores recipients of another account's instance: the cache holds the contacts of the owner. */
  storeFacts(request: SendRequest, facts: Facts): void {
    this.#clockOffsetMs = facts.at - Date.now();
    const { contactId, conversationId, counted, lastWroteAt } = facts;
    const { accountId, instanceId } = request;
    if (facts.instanceVersion === null) {
      if (this.#instances.get(instanceId)?.accountId === accountId) this.#instances.delete(instanceId);
      return;
    }
    this.#instances.set(instanceId, { accountId, facts });
    this.#storeRecipient(request, { contactId, conversationId, counted, lastWroteAt });
  }

  storeWritten(request: SendRequest, plan: WritePlan): void {
    const { contactId, conversationId, lastWroteAt } = plan;
    const counted = plan.counted || plan.newContact !== null;
    this.#storeRecipient(request, { contactId, conversationId, counted, lastWroteAt });
  }

  /** Upper limit of the number of contacts that the text has reached within the window. */
  findTextCount(fingerprint: string, minutes: number): TextCount | null {
    const cached = this.#texts.get(fingerprint);
    return cached?.minutes === minutes ? cached : null;
  }

  storeTextCount(fingerprint: string, { count, textTotal }: TextCount, minutes: number): void {
    const cached = this.#texts.get(fingerprint);
    if (cached === undefined) this.#texts.set(fingerprint, { count, textTotal, minutes });
    // The result of an older batch may arrive later. Within one batch, the highest count includes all its contacts.
    else if (minutes !== cached.minutes || textTotal > cached.textTotal)
      Object.assign(cached, { count, textTotal, minutes });
    else if (textTotal === cached.textTotal) cached.count = Math.max(cached.count, count);
  }

  /** Keeps an equal entry: replacing it for each message would create garbage in V8's old generation. */
  #storeRecipient({ recipientKey }: SendRequest, recipient: CachedRecipient): void {
    const before = this.#recipients.get(recipientKey);
    const isSame =
      before?.conversationId === recipient.conversationId &&
      before.contactId === recipient.contactId &&
      before.counted === recipient.counted &&
      before.lastWroteAt === recipient.lastWroteAt;
    if (!isSame) this.#recipients.set(recipientKey, recipient);
  }
}
