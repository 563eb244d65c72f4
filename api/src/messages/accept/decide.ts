import { newUuid } from '@gwk/core/ids';
import { judgeHours } from '@gwk/core/policy/active-hours';
import { judgeMassSend } from '@gwk/core/policy/mass-block';
import { judgeNewContact } from '@gwk/core/policy/new-contacts';
import type { Policy } from '@gwk/core/policy/policy';
import { Problem } from '@gwk/core/problems';
import type { Facts, Lookup } from './gather.js';

/** What becomes of one request of a group, as far as what was gathered says. Nothing here does anything. */
export type Decision =
  | { do: 'write'; plan: Plan }
  | { do: 'replay'; sealed: Uint8Array }
  /** `tentative`: a limit is reached only because of other requests of this group, which may yet not be written. */
  | { do: 'refuse'; problem: Problem; tentative: boolean }
  /** Another request of this group has the same key: what becomes of that one is known after it was written. */
  | { do: 'again' };

export interface Plan {
  conversationId: string;
  newConversation: boolean;
  /** Null for a group. */
  contactId: string | null;
  newContact: boolean;
  /** The limit that was relied on; null where the message counts no new contact. */
  newContactLimit: number | null;
  mass: { counted: boolean; limit: number; minutes: number } | null;
  outMs: number;
  /** Null: now. */
  releaseAt: Date | null;
}

export type Request = Lookup & { bodyHash: Buffer | null };
export type PolicyOf = (facts: Facts) => Policy;

/** What the requests of a group that come before one add to its facts. */
interface Tally {
  keys: Set<string>;
  contacts: Map<string, string>;
  conversations: Map<string, { id: string; counted: boolean }>;
  newContacts: Map<string, number>;
  /** Contacts, by instance and text. */
  massSends: Map<string, Set<string>>;
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
  if (request.key !== null) {
    const key = `${request.accountId} ${request.key}`;
    if (tally.keys.has(key)) return { do: 'again' };
    const repeated = judgeRepeat(request, facts);
    if (repeated) return repeated;
    // A refused request keeps the key too, within this group: its repeat is decided in the next.
    tally.keys.add(key);
  }
  if (!facts.instanceFound) return refuse('not-found');
  if (!facts.replyOk) return refuse('invalid-reply-to');
  if (facts.optedOut) return refuse('contact-opted-out');
  return judgePolicy(request, facts, policyOf(facts), tally);
}

function judgeRepeat(request: Request, facts: Facts): Decision | null {
  if (facts.recordHash === null) return null;
  if (!request.bodyHash?.equals(facts.recordHash)) return refuse('idempotency-key-reused');
  if (facts.recordResponse === null) return refuse('idempotency-in-progress');
  return { do: 'replay', sealed: facts.recordResponse };
}

function judgePolicy(request: Request, facts: Facts, policy: Policy, tally: Tally): Decision {
  const isGroup = request.recipient.kind === 'group';
  const now = new Date(facts.at);
  const hours = judgeHours({
    hours: policy.active_hours,
    now,
    lastWroteAt: isGroup ? now : dateOf(facts.lastWroteAt),
  });
  if (hours.do === 'refuse') return refuse('policy-outside-hours');
  const place = placeOf(request, facts, tally);
  const releaseAt = hours.do === 'schedule' ? hours.at : null;
  if (isGroup || facts.lastWroteAt !== null) {
    return accept({ request, facts, place, releaseAt }, NOTHING_COUNTED, tally);
  }
  const mass = judgeMass(request, facts, policy, { place, tally });
  if (mass.refusal) return mass.refusal;
  const isNew = !place.counted;
  const refused = isNew ? judgeNew({ now, request, facts, policy, tally }) : null;
  if (refused) return refused;
  const newContactLimit = isNew ? policy.new_contacts_per_day : null;
  return accept({ request, facts, place, releaseAt }, { newContactLimit, mass }, tally);
}

/** What the limits count of a message. */
interface Counts {
  newContactLimit: number | null;
  mass: { key: string; plan: NonNullable<Plan['mass']> } | null;
}
const NOTHING_COUNTED: Counts = { newContactLimit: null, mass: null };

function accept(
  given: { request: Request; facts: Facts; place: Place; releaseAt: Date | null },
  counts: Counts,
  tally: Tally,
): Decision {
  const { request, facts, place, releaseAt } = given;
  remember(request, place, counts, tally);
  return {
    do: 'write',
    plan: {
      conversationId: place.conversationId,
      newConversation: facts.conversationId === null,
      contactId: place.contactId,
      newContact: place.contactId !== null && facts.contactId === null,
      newContactLimit: counts.newContactLimit,
      mass: counts.mass?.plan ?? null,
      outMs: Math.max(0, Math.round(facts.outMs ?? 0)),
      releaseAt,
    },
  };
}

/** The rows that the message belongs to: known, made by an earlier request of the group, or to be made. */
interface Place {
  conversationId: string;
  contactId: string | null;
  counted: boolean;
}

function placeOf(request: Request, facts: Facts, tally: Tally): Place {
  const isGroup = request.recipient.kind === 'group';
  const conversation = tally.conversations.get(conversationKey(request));
  const contactId = facts.contactId ?? tally.contacts.get(contactKey(request)) ?? newUuid();
  return {
    conversationId: facts.conversationId ?? conversation?.id ?? newUuid(),
    contactId: isGroup ? null : contactId,
    counted: facts.counted || (conversation?.counted ?? false),
  };
}

function judgeMass(
  request: Request,
  facts: Facts,
  policy: Policy,
  { place, tally }: { place: Place; tally: Tally },
): NonNullable<Counts['mass']> & { refusal: Decision | null } {
  const { max_contacts: limit, window_minutes: minutes } = policy.mass_block;
  const key = `${request.instanceId} ${request.fingerprint.toString('base64')}`;
  const inGroup = tally.massSends.get(key);
  const alreadyCounted = facts.massCounted || (inGroup?.has(place.contactId!) ?? false);
  const count = facts.massContacts + (inGroup?.size ?? 0);
  const refused = judgeMassSend({ limit, count, alreadyCounted }) === 'refuse';
  return {
    key,
    plan: { counted: !alreadyCounted, limit, minutes },
    refusal: refused ? refuse('policy-mass-send-blocked', facts.massContacts < limit) : null,
  };
}

function judgeNew(given: {
  now: Date;
  request: Request;
  facts: Facts;
  policy: Policy;
  tally: Tally;
}): Decision | null {
  const { now, request, facts, policy, tally } = given;
  const inGroup = tally.newContacts.get(request.instanceId) ?? 0;
  const limit = policy.new_contacts_per_day;
  const verdict = judgeNewContact({
    limit,
    count: facts.newContacts + inGroup,
    oldestAt: dateOf(facts.oldestNewContact),
    restrictedUntil: dateOf(facts.restrictedUntil),
    now,
  });
  if (verdict.do === 'accept') return null;
  const tentative = inGroup > 0 && facts.newContacts < limit;
  const problem = new Problem('policy-new-contacts-limit', { retryAfter: verdict.retryAfter });
  return { do: 'refuse', problem, tentative };
}

function remember(request: Request, place: Place, counts: Counts, tally: Tally): void {
  const { conversationId: id, contactId } = place;
  const isNew = counts.newContactLimit !== null;
  tally.conversations.set(conversationKey(request), { id, counted: place.counted || isNew });
  if (contactId !== null) tally.contacts.set(contactKey(request), contactId);
  if (isNew) tally.newContacts.set(request.instanceId, (tally.newContacts.get(request.instanceId) ?? 0) + 1);
  if (counts.mass === null) return;
  const sent = tally.massSends.get(counts.mass.key);
  if (sent) sent.add(contactId!);
  else tally.massSends.set(counts.mass.key, new Set([contactId!]));
}

const conversationKey = ({ instanceId, recipient }: Request) => `${instanceId} ${recipient.name}`;
const contactKey = ({ accountId, recipient }: Request) => `${accountId} ${recipient.name}`;
const dateOf = (ms: number | null) => (ms === null ? null : new Date(ms));

function refuse(code: ConstructorParameters<typeof Problem>[0], tentative = false): Decision {
  return { do: 'refuse', problem: new Problem(code), tentative };
}
