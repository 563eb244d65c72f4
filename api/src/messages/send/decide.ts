import { newUuid } from '@gwk/core/ids/ids';
import { decideActiveHours } from '../../policy/active-hours.js';
import { decideMassSend } from '../../policy/mass-block.js';
import { decideNewContact } from '../../policy/new-contacts.js';
import type { Policy } from '../../policy/policy.js';
import { Problem, type ProblemCode } from '@gwk/core/problems/problems';
import { isSameBody } from '../../http/idempotency/store.js';
import type { Facts, LookupKeys } from './gather.js';
import type { Draft } from './request.js';

/** The decision on one request of a batch. Everything in this file is pure. */
export type Decision =
  | { do: 'write'; plan: WritePlan }
  | { do: 'replay' }
  /** `tentative`: other requests of the batch use up the limit, and they may still fail to be written. */
  | { do: 'refuse'; problem: Problem; tentative: boolean }
  /** An earlier request of the batch has the same idempotency key. Its result decides this one. */
  | { do: 'retry' };

type Refusal = Extract<Decision, { do: 'refuse' }>;

/** The rows to write for one request, and the facts that the write verifies. */
export interface WritePlan {
  /** Verified: state of the conversation and versions of account and instance. */
  counted: boolean;
  lastWroteAt: number | null;
  accountVersion: string;
  instanceVersion: string;
  conversationId: string;
  createsConversation: boolean;
  /** Null for a group. */
  contactId: string | null;
  createsContact: boolean;
  /** Verified. Null if this message adds no new contact. */
  newContact: LimitCheck | null;
  /**
   * Null if the text is not counted. `check` is null if the text has already been counted for this contact. `textsAtLimit`: the
   * text is within its limit while the instance has sent at most this many texts to contacts, so nothing counts its contacts.
   */
  mass: { check: (LimitCheck & { textsAtLimit: number }) | null; minutes: number } | null;
  /** Offline time of the instance when the facts were read. It grows from `offlineSince`, unless that is null. */
  offlineMs: number;
  offlineSince: number | null;
  /** Null: send now. */
  releaseAt: Date | null;
}

/** A limit, and the rank of this contact among those that the batch adds to the count. */
interface LimitCheck {
  limit: number;
  rank: number;
}

export type SendRequest = LookupKeys & {
  bodyHash: Buffer | null;
  /** `bodyHash` under encryption keys that were the first one before a rotation. */
  formerHashes?: readonly Buffer[];
  /** Instance and recipient. All maps by conversation share this string. */
  recipientKey: string;
  /** A part leaves right after the latest request that is no part, and is accepted only with that one. */
  isPart?: true;
  /** The instances that the sender's API key is restricted to; null: all. */
  visible: ReadonlySet<string> | null;
};

/** A request in a batch. */
export type SendItem = SendRequest & {
  draft: Draft;
  /** Empty for a part. */
  parts: readonly SendItem[];
  traceparent: string | null;
};

type PolicyLookup = (facts: Facts) => Policy;

/** Changes that earlier requests of the batch make to the facts of later ones. */
interface BatchTally {
  recordIds: Set<string>;
  contacts: Map<string, string>;
  conversations: Map<string, string>;
  /** By instance: ranks of the contacts that it writes to for the first time. */
  newContacts: Map<string, Map<string, number>>;
  /** By fingerprint: ranks of the contacts that get this text for the first time. */
  massSends: Map<string, Map<string, number>>;
}

/**
 * Decides in order: two new contacts in one batch count as two. The refusal of a part is one of its whole message, whose other
 * decisions are void.
 */
export function decideBatch(
  requests: readonly SendRequest[],
  facts: readonly Facts[],
  lookUpPolicy: PolicyLookup,
): Decision[] {
  const tally: BatchTally = {
    recordIds: new Set(),
    contacts: new Map(),
    conversations: new Map(),
    newContacts: new Map(),
    massSends: new Map(),
  };
  const decisions: Decision[] = [];
  let whole = 0;
  requests.forEach((request, index) => {
    if (!request.isPart) whole = index;
    else if (decisions[whole]!.do !== 'write') return void decisions.push({ do: 'retry' });
    const decision = decide(request, facts[index]!, lookUpPolicy, tally);
    decisions.push(decision);
    if (decision.do !== 'write') decisions[whole] = decision;
  });
  return decisions;
}

function decide(request: SendRequest, facts: Facts, lookUpPolicy: PolicyLookup, tally: BatchTally): Decision {
  if (facts.accountSuspended) return refuse('account-suspended');
  const { recordId } = request;
  if (recordId !== null) {
    if (tally.recordIds.has(recordId)) return { do: 'retry' };
    const repeat = decideRepeat(request, facts);
    if (repeat) return repeat;
    // A refused request counts, too: a repeat in the same batch is decided in the next one.
    tally.recordIds.add(recordId);
  }
  if (facts.instanceVersion === null) return refuse('not-found');
  if (!facts.replyOk) return refuse('invalid-reply-to');
  if (facts.replyFormer) return refuse('message-of-former-account');
  if (request.mediaId !== null && !mayUseMedia(request, facts)) return refuse('media-not-found');
  if (facts.optedOut) return refuse('contact-opted-out');
  return decideByPolicy(request, facts, lookUpPolicy(facts), tally);
}

function decideRepeat(request: SendRequest, facts: Facts): Decision | null {
  if (facts.recordHash === null) return null;
  if (!isSameBody(request, facts.recordHash)) return refuse('idempotency-key-reused');
  return { do: 'replay' };
}

/** Returns false alike for a file of another account, hidden from the API key, expired or unknown. */
function mayUseMedia({ visible }: SendRequest, { mediaFound, mediaInstances }: Facts): boolean {
  if (!mediaFound || visible === null) return mediaFound;
  // A restricted key may not use files of the whole account, as in GET /v1/media/{media_id}.
  const instances = mediaInstances ?? [];
  return instances.length > 0 && instances.every((id) => visible.has(id));
}

function decideByPolicy(request: SendRequest, facts: Facts, policy: Policy, tally: BatchTally): Decision {
  const isGroup = request.recipient.kind === 'group';
  const now = new Date(facts.at);
  const hours = decideActiveHours({
    hours: policy.active_hours,
    now,
    lastWroteAt: isGroup ? now : toDate(facts.lastWroteAt),
  });
  if (hours.do === 'refuse') return refuse('policy-outside-hours');
  const { conversationId, contactId } = resolveConversation(request, facts, tally);
  const releaseAt = hours.do === 'schedule' ? hours.at : null;
  if (contactId === null || facts.lastWroteAt !== null) {
    const decided = { conversationId, contactId, releaseAt, newContact: null, mass: null };
    return planWrite(request, facts, decided, tally);
  }
  const given = { request, facts, policy, tally, contactId };
  const mass =
    request.fingerprint === null ? null : checkMassSend({ ...given, fingerprint: request.fingerprint });
  if (mass && 'do' in mass) return mass;
  const newContact = facts.counted ? null : checkNewContact(given, now);
  if (newContact && 'do' in newContact) return newContact;
  return planWrite(request, facts, { conversationId, contactId, releaseAt, newContact, mass }, tally);
}

/** Ids of existing rows, of rows that an earlier request of the batch creates, or new ids. */
function resolveConversation(
  request: SendRequest,
  facts: Facts,
  tally: BatchTally,
): Pick<WritePlan, 'conversationId' | 'contactId'> {
  const isGroup = request.recipient.kind === 'group';
  const conversationId = facts.conversationId ?? tally.conversations.get(request.recipientKey) ?? newUuid();
  const contactId = facts.contactId ?? tally.contacts.get(contactKey(request)) ?? newUuid();
  return { conversationId, contactId: isGroup ? null : contactId };
}

interface LimitCase {
  request: SendRequest;
  facts: Facts;
  policy: Policy;
  tally: BatchTally;
  contactId: string;
}

function checkMassSend({
  facts,
  policy,
  tally,
  contactId,
  fingerprint,
}: LimitCase & { fingerprint: string }): NonNullable<WritePlan['mass']> | Refusal {
  const { max_contacts: limit, window_minutes: minutes } = policy.mass_block;
  if (facts.massCounted) return { check: null, minutes };
  const rank = nextRank(tally.massSends.get(fingerprint), contactId);
  const decision = decideMassSend({ limit, count: facts.massContacts + rank - 1, alreadyCounted: false });
  if (decision === 'refuse')
    return refuse('policy-mass-send-blocked', rank > 1 && facts.massContacts < limit);
  const textsAtLimit = facts.texts + limit - rank - facts.massContacts;
  return { check: { limit, rank, textsAtLimit }, minutes };
}

function checkNewContact(
  { request, facts, policy, tally, contactId }: LimitCase,
  now: Date,
): LimitCheck | Refusal {
  const limit = policy.new_contacts_per_day;
  const rank = nextRank(tally.newContacts.get(request.instanceId), contactId);
  const decision = decideNewContact({
    limit,
    count: facts.newContacts + rank - 1,
    oldestAt: toDate(facts.oldestNewContact),
    restrictedUntil: toDate(facts.restrictedUntil),
    now,
  });
  if (decision.do === 'accept') return { limit, rank };
  const problem = new Problem('policy-new-contacts-limit', { retryAfter: decision.retryAfter });
  return { do: 'refuse', problem, tentative: rank > 1 && facts.newContacts < limit };
}

function nextRank(ranks: ReadonlyMap<string, number> | undefined, contactId: string): number {
  return ranks?.get(contactId) ?? (ranks?.size ?? 0) + 1;
}

type Decided = Pick<WritePlan, 'conversationId' | 'contactId' | 'releaseAt' | 'newContact' | 'mass'>;

/** Adds the request to the tally. */
function planWrite(request: SendRequest, facts: Facts, decided: Decided, tally: BatchTally): Decision {
  const { conversationId, contactId, newContact, mass } = decided;
  tally.conversations.set(request.recipientKey, conversationId);
  if (contactId !== null) {
    tally.contacts.set(contactKey(request), contactId);
    if (newContact) ranksOf(tally.newContacts, request.instanceId).set(contactId, newContact.rank);
    if (mass?.check) ranksOf(tally.massSends, request.fingerprint!).set(contactId, mass.check.rank);
  }
  return {
    do: 'write',
    plan: {
      ...decided,
      counted: facts.counted,
      lastWroteAt: facts.lastWroteAt,
      accountVersion: facts.accountVersion!,
      instanceVersion: facts.instanceVersion!,
      createsConversation: facts.conversationId === null,
      createsContact: contactId !== null && facts.contactId === null,
      offlineMs: Math.max(0, Math.round(facts.offlineMs ?? 0)),
      offlineSince: facts.state === 'connected' ? null : facts.at,
    },
  };
}

function ranksOf(ranks: Map<string, Map<string, number>>, key: string): Map<string, number> {
  const found = ranks.get(key) ?? new Map<string, number>();
  ranks.set(key, found);
  return found;
}

const contactKey = ({ accountId, recipient }: SendRequest) => `${accountId} ${recipient.name}`;
const toDate = (ms: number | null) => (ms === null ? null : new Date(ms));

function refuse(code: ProblemCode, tentative = false): Refusal {
  return { do: 'refuse', problem: new Problem(code), tentative };
}
