import { resolvePolicy, type PolicyOverrides } from '../../policy/policy.js';
import { parseRecipient } from '@gwk/core/ids/recipients';
import { decideBatch, type Decision, type SendRequest } from './decide.js';
import type { Facts } from './gather.js';

const NOW = Date.UTC(2026, 2, 10, 12);
const HOUR = 3_600_000;

/** A text to a new contact, from an instance far from its limits. */
const newContact: Facts = {
  at: NOW,
  instanceVersion: '1',
  state: 'connected',
  offlineMs: 0,
  warmUpFrom: 0,
  restrictedUntil: null,
  instancePolicy: '{}',
  accountVersion: '1',
  accountPolicy: '{}',
  accountSuspended: false,
  recordHash: null,
  recordResponse: null,
  recordMessage: null,
  contactId: null,
  optedOut: false,
  conversationId: null,
  counted: false,
  lastWroteAt: null,
  newContacts: 0,
  oldestNewContact: null,
  massContacts: 0,
  texts: 0,
  massCounted: false,
  replyOk: true,
  replyFormer: false,
  mediaFound: false,
  mediaInstances: null,
};
const countedContact: Facts = {
  ...newContact,
  contactId: 'contact',
  conversationId: 'conversation',
  counted: true,
};
const contactWhoWrote: Facts = { ...countedContact, lastWroteAt: NOW - HOUR };

const request = (
  given: { to?: string; text?: string; key?: string; body?: string; instance?: string } = {},
): SendRequest => ({
  accountId: 'account',
  instanceId: given.instance ?? 'instance',
  recipient: parseRecipient(given.to ?? '5511999990000')!,
  recipientKey: `${given.instance ?? 'instance'} ${given.to ?? '5511999990000'}`,
  recordId: given.key ?? null,
  fingerprint: `${given.instance ?? 'instance'} ${given.text ?? 'hello'}`,
  replyTo: null,
  mediaId: null,
  visible: null,
  bodyHash: given.key === undefined ? null : Buffer.from(given.body ?? 'body'),
});

/** Summary of a decision in one word. */
function summarize(decision: Decision): string {
  if (decision.do === 'refuse') return decision.problem.code + (decision.tentative ? ' (tentative)' : '');
  return decision.do === 'write' && decision.plan.releaseAt ? 'scheduled' : decision.do;
}

const decide = (given: [SendRequest, Facts][], policy: PolicyOverrides = {}) => {
  const levels = { environment: policy, account: {}, instance: {} };
  const lookUpPolicy = () => resolvePolicy(levels, { warmingUp: false });
  return decideBatch(
    given.map(([one]) => one),
    given.map(([, facts]) => facts),
    lookUpPolicy,
  );
};

const closed = { start: '18:00', end: '19:00', timezone: 'UTC' };
const one: [string, Facts, PolicyOverrides, string][] = [
  ['accepts a first message to a new contact', newContact, {}, 'write'],
  ['refuses an unknown instance', { ...newContact, instanceVersion: null }, {}, 'not-found'],
  ['refuses a suspended account', { ...contactWhoWrote, accountSuspended: true }, {}, 'account-suspended'],
  ['accepts for a logged-out instance', { ...newContact, state: 'logged_out' }, {}, 'write'],
  ['refuses an opted-out contact', { ...contactWhoWrote, optedOut: true }, {}, 'contact-opted-out'],
  ['refuses an invalid quote', { ...contactWhoWrote, replyOk: false }, {}, 'invalid-reply-to'],
  [
    'refuses a quote of the former account',
    { ...contactWhoWrote, replyFormer: true },
    {},
    'message-of-former-account',
  ],
  [
    'refuses outside active hours',
    countedContact,
    { active_hours: { ...closed, outside: 'reject' } },
    'policy-outside-hours',
  ],
  [
    'schedules outside active hours, if the policy says so',
    countedContact,
    { active_hours: { ...closed, outside: 'schedule' } },
    'scheduled',
  ],
  [
    'accepts outside active hours for a contact who wrote an hour ago',
    contactWhoWrote,
    { active_hours: closed },
    'write',
  ],
  [
    'refuses a new contact at the limit',
    { ...newContact, newContacts: 5 },
    { new_contacts_per_day: 5 },
    'policy-new-contacts-limit',
  ],
  [
    'accepts a counted contact at the limit',
    { ...countedContact, newContacts: 5 },
    { new_contacts_per_day: 5 },
    'write',
  ],
  [
    'accepts a contact who wrote, at the limit',
    { ...contactWhoWrote, counted: false },
    { new_contacts_per_day: 0 },
    'write',
  ],
  [
    'refuses a new contact while the network restricts the instance',
    { ...newContact, restrictedUntil: NOW + HOUR },
    {},
    'policy-new-contacts-limit',
  ],
  [
    'refuses a text at the mass-send limit',
    { ...countedContact, massContacts: 30 },
    {},
    'policy-mass-send-blocked',
  ],
  [
    'accepts a text at the limit for a contact counted with it',
    { ...countedContact, massContacts: 30, massCounted: true },
    {},
    'write',
  ],
  [
    'accepts a text at the limit for a contact who wrote',
    { ...contactWhoWrote, massContacts: 30 },
    {},
    'write',
  ],
];

test.each(one)('%s', (_, facts, policy, expected) => {
  expect(decide([[request(), facts]], policy).map(summarize)).toEqual([expected]);
});

const file = 'a-file';
test.each<[string, Partial<SendRequest>, Partial<Facts>, string]>([
  ['accepts a file of the account', { mediaId: file }, { mediaFound: true }, 'write'],
  ['refuses an unknown file', { mediaId: file }, { mediaFound: false }, 'media-not-found'],
  [
    'accepts a file that an instance of the API key received',
    { mediaId: file, visible: new Set(['instance', 'other']) },
    { mediaFound: true, mediaInstances: ['other'] },
    'write',
  ],
  [
    'refuses a file of an instance that is hidden from the API key',
    { mediaId: file, visible: new Set(['instance']) },
    { mediaFound: true, mediaInstances: ['other'] },
    'media-not-found',
  ],
  [
    'refuses a file of the whole account for a restricted API key',
    { mediaId: file, visible: new Set(['instance']) },
    { mediaFound: true, mediaInstances: [] },
    'media-not-found',
  ],
  [
    'refuses a file of several instances if the API key covers only one',
    { mediaId: file, visible: new Set(['instance']) },
    { mediaFound: true, mediaInstances: ['instance', 'other'] },
    'media-not-found',
  ],
  [
    'does not count a message without text as a mass send',
    { fingerprint: null },
    { massContacts: 99 },
    'write',
  ],
])('%s', (_, given, facts, expected) => {
  const decisions = decide([
    [
      { ...request(), ...given },
      { ...countedContact, ...facts },
    ],
  ]);
  expect(decisions.map(summarize)).toEqual([expected]);
});

test('treats a group like a contact who wrote', () => {
  const group = request({ to: '120363012345678901@g.us' });
  const policy = { new_contacts_per_day: 0, active_hours: closed };
  expect(decide([[group, newContact]], policy).map(summarize)).toEqual(['write']);
});

describe('in one batch', () => {
  const to = (n: number) => `55119999900${String(n).padStart(2, '0')}`;

  test('counts two new contacts as two', () => {
    const given = [0, 1, 2].map((n): [SendRequest, Facts] => [
      request({ to: to(n) }),
      { ...newContact, newContacts: 3 },
    ]);
    expect(decide(given, { new_contacts_per_day: 5 }).map(summarize)).toEqual([
      'write',
      'write',
      'policy-new-contacts-limit (tentative)',
    ]);
  });

  test('counts two messages to one new contact as one, with the same contact and conversation', () => {
    const given = [0, 0, 1].map((n): [SendRequest, Facts] => [request({ to: to(n) }), newContact]);
    const decisions = decide(given, { new_contacts_per_day: 1 });
    expect(decisions.map(summarize)).toEqual(['write', 'write', 'policy-new-contacts-limit (tentative)']);
    const [first, second] = decisions as Extract<Decision, { do: 'write' }>[];
    expect(second!.plan).toEqual(first!.plan);
    expect(first!.plan.newContact).toEqual({ limit: 1, rank: 1 });
  });

  test('counts the limits of two instances separately', () => {
    const given = ['a', 'b'].map((instance): [SendRequest, Facts] => [request({ instance }), newContact]);
    const decisions = decide(given, { new_contacts_per_day: 1, mass_block: { max_contacts: 1 } });
    expect(decisions.map(summarize)).toEqual(['write', 'write']);
  });

  test('counts each contact of one text, and other texts separately', () => {
    const given = [0, 1, 1, 2, 3].map((n): [SendRequest, Facts] => [
      request({ to: to(n), text: n === 3 ? 'other' : 'hello' }),
      { ...newContact, massContacts: 1 },
    ]);
    expect(decide(given, { mass_block: { max_contacts: 3 } }).map(summarize)).toEqual([
      'write',
      'write',
      'write',
      'policy-mass-send-blocked (tentative)',
      'write',
    ]);
  });

  test('retries a second request with the same key', () => {
    const given = [0, 1].map((): [SendRequest, Facts] => [request({ key: 'k' }), contactWhoWrote]);
    expect(decide(given).map(summarize)).toEqual(['write', 'retry']);
  });
});

describe('a message with parts', () => {
  const part = (given: Partial<SendRequest> = {}): SendRequest => ({ ...request(), ...given, isPart: true });
  const unknown = { mediaId: 'a-file' };

  test('counts as one new contact', () => {
    const given = [request(), part(), part(unknown)];
    const facts = { ...newContact, mediaFound: true };
    const policy = { new_contacts_per_day: 1 };
    expect(
      decide(
        given.map((one) => [one, facts]),
        policy,
      ).map(summarize),
    ).toEqual(['write', 'write', 'write']);
  });

  test('is refused with the refusal of a part', () => {
    const given = [request(), part(), part(unknown), part(), request()];
    const decisions = decide(given.map((one) => [one, contactWhoWrote]));
    const [whole, , refused, later, other] = decisions.map(summarize);
    expect([whole, refused, later, other]).toEqual(['media-not-found', 'media-not-found', 'retry', 'write']);
  });

  test('has no decisions on its parts if it is refused or replayed itself', () => {
    const replayed = { ...contactWhoWrote, recordHash: Buffer.from('body'), recordMessage: 'message' };
    expect(
      decide([
        [request({ key: 'k' }), replayed],
        [part(), contactWhoWrote],
      ]).map(summarize),
    ).toEqual(['replay', 'retry']);
  });
});

describe('a repeated request', () => {
  const answered = { ...contactWhoWrote, recordHash: Buffer.from('body'), recordMessage: 'message' };

  test('is replayed even if it would be refused now', () => {
    const facts = { ...answered, optedOut: true, instanceVersion: null };
    expect(decide([[request({ key: 'k' }), facts]]).map(summarize)).toEqual(['replay']);
  });

  test('with another body is refused', () => {
    expect(decide([[request({ key: 'k', body: 'other' }), answered]]).map(summarize)).toEqual([
      'idempotency-key-reused',
    ]);
  });
});
