import { resolvePolicy, type PolicyOverrides } from '@gwk/core/policy/policy';
import { parseRecipient } from '@gwk/core/recipients';
import { decideGroup, type Decision, type Request } from './decide.js';
import type { Facts } from './gather.js';

const NOW = Date.UTC(2026, 2, 10, 12);
const HOUR = 3_600_000;

/** A text to a contact who was never written to and never wrote, of a calm instance. */
const stranger: Facts = {
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
  massCounted: false,
  replyOk: true,
  mediaFound: false,
  mediaInstances: null,
};
const known: Facts = { ...stranger, contactId: 'contact', conversationId: 'conversation', counted: true };
const friend: Facts = { ...known, lastWroteAt: NOW - HOUR };

const request = (
  given: { to?: string; text?: string; key?: string; body?: string; instance?: string } = {},
): Request => ({
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

/** What became of each, in a word. */
function word(decision: Decision): string {
  if (decision.do === 'refuse') return decision.problem.code + (decision.tentative ? ' (tentative)' : '');
  return decision.do === 'write' && decision.plan.releaseAt ? 'scheduled' : decision.do;
}

const decide = (given: [Request, Facts][], policy: PolicyOverrides = {}) => {
  const levels = { environment: policy, account: {}, instance: {} };
  const policyOf = () => resolvePolicy(levels, { warmingUp: false });
  return decideGroup(
    given.map(([one]) => one),
    given.map(([, facts]) => facts),
    policyOf,
  );
};

const closed = { start: '18:00', end: '19:00', timezone: 'UTC' };
const one: [string, Facts, PolicyOverrides, string][] = [
  ['a first message to a stranger is written', stranger, {}, 'write'],
  ['an instance that is not found', { ...stranger, instanceVersion: null }, {}, 'not-found'],
  ['a suspended account sends nothing', { ...friend, accountSuspended: true }, {}, 'account-suspended'],
  ['an instance that is logged out still accepts', { ...stranger, state: 'logged_out' }, {}, 'write'],
  ['who opted out is not written to', { ...friend, optedOut: true }, {}, 'contact-opted-out'],
  ['a quote that cannot be', { ...friend, replyOk: false }, {}, 'invalid-reply-to'],
  ['outside the window', known, { active_hours: { ...closed, outside: 'reject' } }, 'policy-outside-hours'],
  [
    'outside the window, with schedule',
    known,
    { active_hours: { ...closed, outside: 'schedule' } },
    'scheduled',
  ],
  ['outside the window, to who wrote an hour ago', friend, { active_hours: closed }, 'write'],
  [
    'at the limit of new contacts',
    { ...stranger, newContacts: 5 },
    { new_contacts_per_day: 5 },
    'policy-new-contacts-limit',
  ],
  ['at the limit, to one who is counted', { ...known, newContacts: 5 }, { new_contacts_per_day: 5 }, 'write'],
  ['at the limit, to one who wrote', { ...friend, counted: false }, { new_contacts_per_day: 0 }, 'write'],
  [
    'while the network refuses new contacts',
    { ...stranger, restrictedUntil: NOW + HOUR },
    {},
    'policy-new-contacts-limit',
  ],
  ['the same text to too many', { ...known, massContacts: 30 }, {}, 'policy-mass-send-blocked'],
  ['the same text again to one of the many', { ...known, massContacts: 30, massCounted: true }, {}, 'write'],
  ['the same text to too many, to who wrote', { ...friend, massContacts: 30 }, {}, 'write'],
];

test.each(one)('%s', (_, facts, policy, expected) => {
  expect(decide([[request(), facts]], policy).map(word)).toEqual([expected]);
});

const file = 'a-file';
test.each<[string, Partial<Request>, Partial<Facts>, string]>([
  ['a file of the account', { mediaId: file }, { mediaFound: true }, 'write'],
  ['a file that is not there', { mediaId: file }, { mediaFound: false }, 'media-not-found'],
  [
    'a file that an instance received, by a key of that instance',
    { mediaId: file, visible: new Set(['instance', 'other']) },
    { mediaFound: true, mediaInstances: ['other'] },
    'write',
  ],
  [
    'a file that an instance received which the key does not see',
    { mediaId: file, visible: new Set(['instance']) },
    { mediaFound: true, mediaInstances: ['other'] },
    'media-not-found',
  ],
  [
    'a file of the whole account, by a key of some instances',
    { mediaId: file, visible: new Set(['instance']) },
    { mediaFound: true, mediaInstances: [] },
    'media-not-found',
  ],
  [
    'a file of several instances, by a key of one of them',
    { mediaId: file, visible: new Set(['instance']) },
    { mediaFound: true, mediaInstances: ['instance', 'other'] },
    'media-not-found',
  ],
  ['what has no text is not counted as a mass send', { fingerprint: null }, { massContacts: 99 }, 'write'],
])('%s', (_, given, facts, expected) => {
  const decisions = decide([
    [
      { ...request(), ...given },
      { ...known, ...facts },
    ],
  ]);
  expect(decisions.map(word)).toEqual([expected]);
});

test('a group counts as a contact that wrote', () => {
  const group = request({ to: '120363012345678901@g.us' });
  const policy = { new_contacts_per_day: 0, active_hours: closed };
  expect(decide([[group, stranger]], policy).map(word)).toEqual(['write']);
});

describe('in one group', () => {
  const to = (n: number) => `55119999900${String(n).padStart(2, '0')}`;

  test('two new contacts count as two', () => {
    const given = [0, 1, 2].map((n): [Request, Facts] => [
      request({ to: to(n) }),
      { ...stranger, newContacts: 3 },
    ]);
    expect(decide(given, { new_contacts_per_day: 5 }).map(word)).toEqual([
      'write',
      'write',
      'policy-new-contacts-limit (tentative)',
    ]);
  });

  test('two messages to one new contact count as one, and share contact and conversation', () => {
    const given = [0, 0, 1].map((n): [Request, Facts] => [request({ to: to(n) }), stranger]);
    const decisions = decide(given, { new_contacts_per_day: 1 });
    expect(decisions.map(word)).toEqual(['write', 'write', 'policy-new-contacts-limit (tentative)']);
    const [first, second] = decisions as Extract<Decision, { do: 'write' }>[];
    expect(second!.plan).toEqual(first!.plan);
    expect(first!.plan.newContact).toEqual({ limit: 1, rank: 1 });
  });

  test('limits of two instances are apart', () => {
    const given = ['a', 'b'].map((instance): [Request, Facts] => [request({ instance }), stranger]);
    const decisions = decide(given, { new_contacts_per_day: 1, mass_block: { max_contacts: 1 } });
    expect(decisions.map(word)).toEqual(['write', 'write']);
  });

  test('one text to several contacts counts each, another text none', () => {
    const given = [0, 1, 1, 2, 3].map((n): [Request, Facts] => [
      request({ to: to(n), text: n === 3 ? 'other' : 'hello' }),
      { ...stranger, massContacts: 1 },
    ]);
    expect(decide(given, { mass_block: { max_contacts: 3 } }).map(word)).toEqual([
      'write',
      'write',
      'write',
      'policy-mass-send-blocked (tentative)',
      'write',
    ]);
  });

  test('a second request with a key waits for the first', () => {
    const given = [0, 1].map((): [Request, Facts] => [request({ key: 'k' }), friend]);
    expect(decide(given).map(word)).toEqual(['write', 'again']);
  });
});

describe('a request that was answered before', () => {
  const answered = { ...friend, recordHash: Buffer.from('body'), recordMessage: 'message' };

  test('is replayed, even where it would be refused now', () => {
    const facts = { ...answered, optedOut: true, instanceVersion: null };
    expect(decide([[request({ key: 'k' }), facts]]).map(word)).toEqual(['replay']);
  });

  test('with another body is refused', () => {
    expect(decide([[request({ key: 'k', body: 'other' }), answered]]).map(word)).toEqual([
      'idempotency-key-reused',
    ]);
  });
});
