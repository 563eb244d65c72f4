import { newUuid } from '@gwk/core/ids';
import { decideActiveHours } from '@gwk/core/policy/active-hours';
import { decideMassSend } from '@gwk/core/policy/mass-block';
import { decideNewContact } from '@gwk/core/policy/new-contacts';
import type { Policy } from '@gwk/core/policy/policy';
import { Problem, type ProblemCode } from '@gwk/core/problems';
import { isSameBody } from '../../http/idempotency/store.js';
import type { Facts, Lookup } from './gather.js';

/** What becomes of one request of a group, as far as what was gathered says. Nothing here does anything. */
export type Decision =
  | { do: 'write'; plan: Plan }
  | { do: 'replay' }
  /** `tentative`: a limit is reached only because of other requests of this group, which may yet not be written. */
  | { do: 'refuse'; problem: Problem; tentative: boolean }
  /** Another request of this group has the same key: what becomes of that one is known after it was written. */
  | { do: 'again' };

type Refusal = Extract<Decision, { do: 'refuse' }>;

export interface Plan {
  /** What was known of the conversation and has to be so still. */
  counted: boolean;
  lastWroteAt: number | null;
  accountVersion: string;
  instanceVersion: string;
  conversationId: string;
  makesConversation: boolean;
  /** Null for a group. */
  contactId: string | null;
  makesContact: boolean;
  /** Null where no new contact is counted, or this one was. */
  newContact: Room | null;
  /** Null where the text is not counted; without room where this contact was counted with it. */
  mass: { room: Room | null; minutes: number } | null;
  /** The instance's out clock when the facts were seen; running since `outSince`, standing where that is null. */
  offlineMs: number;
  outSince: number | null;
  /** Null: now. */
  releaseAt: Date | null;
}

/** The limit that a decision relied on, and the contact's place among those that its group adds. */
export interface Room {
  limit: number;
  rank: number;
}

export type Request = Lookup & {
  bodyHash: Buffer | null;
  /** The same under keys that were in front before. */
  formerHashes?: readonly Buffer[];
  /** Names the conversation: one string for all that look by it. */
  recipientKey: string;
  /** The instances that the sender's key is restricted to; null: all. */
  visible: ReadonlySet<string> | null;
};
export type PolicyOf = (facts: Facts) => Policy;

/** What the requests of a group that come before one add to its facts. */
interface Tally {
  keys: Set<string>;
  contacts: Map<string, string>;
  conversations: Map<string, string>;
  /** Ranks of the contacts that each instance writes to for the first time. */
  newContacts: Map<string, Map<string, number>>;
  /** Ranks of the contacts that each text of an instance goes to for the first time. */
  massSends: Map<string, Map<string, number>>;
}

/** Decides in order: two new contacts in one group count as two. */
export function decideGroup(
  requests: readonly Request[],
  facts: readonly Facts[],
  policyOf: PolicyOf,
): Decision[] {
  const tally: Tally = {
    keys: new Set(),
    contacts: new Map(),
    conversations: new Map(),
    newContacts: new Map(),
    massSends: new Map(),
  };
  return requests.map((request, index) => decide(request, facts[index]!, policyOf, tally));
}

function decide(request: Request, facts: Facts, policyOf: PolicyOf, tally: Tally): Decision {
  if (facts.accountSuspended) return refuse('account-suspended');
  const { recordId } = request;
  if (recordId !== null) {
    if (tally.keys.has(recordId)) return { do: 'again' };
    const repeated = judgeRepeat(request, facts);
    if (repeated) return repeated;
    // A refused request keeps the key too, within this group: its repeat is decided in the next.
    tally.keys.add(recordId);
  }
  if (facts.instanceVersion === null) return refuse('not-found');
  if (!facts.replyOk) return refuse('invalid-reply-to');
  if (request.mediaId !== null && !mayUseMedia(request, facts)) return refuse('media-not-found');
  if (facts.optedOut) return refuse('contact-opted-out');
  return judgePolicy(request, facts, policyOf(facts), tally);
}

function judgeRepeat(request: Request, facts: Facts): Decision | null {
  if (facts.recordHash === null) return null;
  if (!isSameBody(request, facts.recordHash)) return refuse('idempotency-key-reused');
  return { do: 'replay' };
}

/** Answered alike for what is foreign, hidden from the key, expired or never was. */
function mayUseMedia({ visible }: Request, { mediaFound, mediaInstances }: Facts): boolean {
  if (!mediaFound || visible === null) return mediaFound;
  // What belongs to the whole account is not for keys of some instances, as in GET /v1/media/{media_id}.
  const instances = mediaInstances ?? [];
  return instances.length > 0 && instances.every((id) => visible.has(id));
}

function judgePolicy(request: Request, facts: Facts, policy: Policy, tally: Tally): Decision {
  const isGroup = request.recipient.kind === 'group';
  const now = new Date(facts.at);
  const hours = decideActiveHours({
    hours: policy.active_hours,
    now,
    lastWroteAt: isGroup ? now : dateOf(facts.lastWroteAt),
  });
  if (hours.do === 'refuse') return refuse('policy-outside-hours');
  const place = placeOf(request, facts, tally);
  const releaseAt = hours.do === 'schedule' ? hours.at : null;
  const accepted = { request, facts, place, releaseAt };
  if (place.contactId === null || facts.lastWroteAt !== null) {
    return accept({ ...accepted, newContact: null, mass: null }, tally);
  }
  const given = { request, facts, policy, tally, contactId: place.contactId };
  const mass = request.fingerprint === null ? null : judgeMass({ ...given, text: request.fingerprint });
  if (mass && 'do' in mass) return mass;
  const newContact = facts.counted ? null : judgeNew(given, now);
  if (newContact && 'do' in newContact) return newContact;
  return accept({ ...accepted, newContact, mass }, tally);
}

/** The rows that the message belongs to: known, made by an earlier request of the group, or to be made. */
interface Place {
  conversationId: string;
  /** Null for a group. */
  contactId: string | null;
}

function placeOf(request: Request, facts: Facts, tally: Tally): Place {
  const isGroup = request.recipient.kind === 'group';
  const conversationId = facts.conversationId ?? tally.conversations.get(request.recipientKey) ?? newUuid();
  const contactId = facts.contactId ?? tally.contacts.get(contactKey(request)) ?? newUuid();
  return { conversationId, contactId: isGroup ? null : contactId };
}

interface LimitCase {
  request: Request;
  facts: Facts;
  policy: Policy;
  tally: Tally;
  contactId: string;
}

function judgeMass({
  facts,
  policy,
  tally,
  contactId,
  text,
}: LimitCase & { text: string }): NonNullable<Plan['mass']> | Refusal {
  const { max_contacts: limit, window_minutes: minutes } = policy.mass_block;
  if (facts.massCounted) return { room: null, minutes };
  const added = tally.massSends.get(text);
  const rank = added?.get(contactId) ?? (added?.size ?? 0) + 1;
  const verdict = decideMassSend({ limit, count: facts.massContacts + rank - 1, alreadyCounted: false });
  if (verdict === 'refuse') return refuse('policy-mass-send-blocked', rank > 1 && facts.massContacts < limit);
  return { room: { limit, rank }, minutes };
}

function judgeNew({ request, facts, policy, tally, contactId }: LimitCase, now: Date): Room | Refusal {
  const limit = policy.new_contacts_per_day;
  const added = tally.newContacts.get(request.instanceId);
  const rank = added?.get(contactId) ?? (added?.size ?? 0) + 1;
  const verdict = decideNewContact({
    limit,
    count: facts.newContacts + rank - 1,
    oldestAt: dateOf(facts.oldestNewContact),
    restrictedUntil: dateOf(facts.restrictedUntil),
    now,
  });
  if (verdict.do === 'accept') return { limit, rank };
  const problem = new Problem('policy-new-contacts-limit', { retryAfter: verdict.retryAfter });
  return { do: 'refuse', problem, tentative: rank > 1 && facts.newContacts < limit };
}

interface AcceptedCase {
  request: Request;
  facts: Facts;
  place: Place;
  releaseAt: Date | null;
  newContact: Room | null;
  mass: Plan['mass'];
}

function accept(given: AcceptedCase, tally: Tally): Decision {
  const { request, facts, place, releaseAt, newContact, mass } = given;
  const { conversationId, contactId } = place;
  tally.conversations.set(request.recipientKey, conversationId);
  if (contactId !== null) {
    tally.contacts.set(contactKey(request), contactId);
    if (newContact) rankIn(tally.newContacts, request.instanceId).set(contactId, newContact.rank);
    if (mass?.room) rankIn(tally.massSends, request.fingerprint!).set(contactId, mass.room.rank);
  }
  return {
    do: 'write',
    plan: {
      counted: facts.counted,
      lastWroteAt: facts.lastWroteAt,
      accountVersion: facts.accountVersion!,
      instanceVersion: facts.instanceVersion!,
      conversationId,
      makesConversation: facts.conversationId === null,
      contactId,
      makesContact: contactId !== null && facts.contactId === null,
      newContact,
      mass,
      offlineMs: Math.max(0, Math.round(facts.offlineMs ?? 0)),
      outSince: facts.state === 'connected' ? null : facts.at,
      releaseAt,
    },
  };
}

function rankIn(ranks: Map<string, Map<string, number>>, key: string): Map<string, number> {
  const found = ranks.get(key) ?? new Map<string, number>();
  ranks.set(key, found);
  return found;
}

const contactKey = ({ accountId, recipient }: Request) => `${accountId} ${recipient.name}`;
const dateOf = (ms: number | null) => (ms === null ? null : new Date(ms));

function refuse(code: ProblemCode, tentative = false): Refusal {
  return { do: 'refuse', problem: new Problem(code), tentative };
}
