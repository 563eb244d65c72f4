import type { InstanceState } from '@gwk/core/states';
import { decideStates, type InstanceStateRow, type StateUpdate } from './decide.js';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second));
const NOW = at(50);
const SUBJECT = { accountId: 'account', instanceId: '01890000-0000-7000-8000-000000000001' };

const row = (state: InstanceState, given: Partial<InstanceStateRow> = {}): InstanceStateRow => ({
  state,
  stateReason: null,
  stateChangedAt: at(0),
  offlineMs: 1000n,
  jid: null,
  lid: null,
  businessName: null,
  lastJid: null,
  lastLid: null,
  otherAccountAt: null,
  firstPairedAt: null,
  firstConnectedAt: null,
  bannedUntil: null,
  restrictedUntil: null,
  reconnectCount: 0,
  reconnectAt: null,
  ...given,
});

const update = (state: InstanceState, second: number, given: Partial<StateUpdate> = {}): StateUpdate => {
  return { state, at: at(second), reason: null, ...given };
};
const PAIRED = { jid: '5511@s.whatsapp.net', business_name: 'Loja', platform: 'android' };

const FORMER = row('logged_out', {
  lastJid: PAIRED.jid,
  lastLid: '70000@lid',
  firstPairedAt: at(-9),
  restrictedUntil: at(60),
});

interface Case {
  name: string;
  before: InstanceStateRow;
  updates: StateUpdate[];
  after: Partial<InstanceStateRow> & { isOther?: boolean };
  intervals?: [InstanceState, number][];
  events?: [string, Record<string, unknown>][];
  visible?: boolean;
  /** A field that no event has. */
  silent?: string;
}

const CASES: Case[] = [
  {
    name: 'adds time offline when it ends',
    before: row('connecting', { jid: 'me' }),
    updates: [update('connected', 4)],
    after: { state: 'connected', stateChangedAt: at(4), offlineMs: 5000n, firstConnectedAt: at(4) },
    intervals: [['connected', 4]],
    events: [['instance.connected', { jid: 'me' }]],
  },
  {
    name: 'adds no time connected',
    before: row('connected'),
    updates: [update('disconnected', 4, { reason: 'connection_lost' })],
    after: { offlineMs: 1000n, stateReason: 'connection_lost' },
    intervals: [['disconnected', 4]],
    events: [['instance.disconnected', { reason: 'connection_lost' }]],
  },
  {
    name: 'emits the pairing before the connection, both with the new jid',
    before: row('connecting'),
    updates: [update('connected', 4, { paired: PAIRED })],
    after: { jid: PAIRED.jid, businessName: 'Loja', firstPairedAt: at(4), firstConnectedAt: at(4) },
    intervals: [['connected', 4]],
    events: [
      ['instance.paired', PAIRED],
      ['instance.connected', { jid: PAIRED.jid }],
    ],
  },
  {
    name: 'keeps the first pairing and connection times',
    before: row('connecting', { firstPairedAt: at(-9), firstConnectedAt: at(-8) }),
    updates: [update('connected', 4, { paired: PAIRED })],
    after: { firstPairedAt: at(-9), firstConnectedAt: at(-8) },
    intervals: [['connected', 4]],
    events: [
      ['instance.paired', PAIRED],
      ['instance.connected', { jid: PAIRED.jid }],
    ],
  },
  ...(
    [
      ['the same account', { lid: '70000@lid' }],
      ['the same account with another LID', { lid: '8@lid' }],
      ['the same account with another phone number', { jid: '5521@s.whatsapp.net', lid: '70000:2@lid' }],
      ['an account whose LID is unknown', {}],
    ] as const
  ).map(([who, ids]): Case => ({
    name: `keeps the warm-up when ${who} is linked again`,
    before: FORMER,
    updates: [update('connecting', 4, { paired: { ...PAIRED, ...ids } })],
    after: { firstPairedAt: at(-9), restrictedUntil: at(60), otherAccountAt: null, isOther: false },
    intervals: [['connecting', 4]],
    events: [['instance.paired', { jid: { ...PAIRED, ...ids }.jid }]],
    silent: 'previous_jid',
  })),
  ...(['logged_out', 'connecting'] as const).map((state): Case => ({
    name: `starts the warm-up anew when another account is linked in state ${state}`,
    before: { ...FORMER, state },
    updates: [update('connecting', 4, { paired: { ...PAIRED, jid: '5521@s.whatsapp.net', lid: '9@lid' } })],
    after: {
      firstPairedAt: at(4),
      restrictedUntil: null,
      otherAccountAt: NOW,
      lastJid: '5521@s.whatsapp.net',
      lastLid: '9@lid',
      isOther: true,
    },
    intervals: [['connecting', 4]],
    events: [['instance.paired', { jid: '5521@s.whatsapp.net', previous_jid: PAIRED.jid }]],
  })),
  {
    name: 'remembers the account after a logout',
    before: row('connected', { jid: 'me', lid: '1@lid', lastJid: 'me', lastLid: '1@lid' }),
    updates: [update('pending_pair', 4, { jid: null, lid: null })],
    after: { jid: null, lid: null, lastJid: 'me', lastLid: '1@lid' },
    intervals: [['pending_pair', 4]],
  },
  {
    name: 'changes nothing for the same state reported again',
    before: row('connected', { stateReason: null }),
    updates: [update('connected', 9, { reason: 'again', paired: undefined })],
    after: { stateChangedAt: at(0), stateReason: null, offlineMs: 1000n },
    visible: false,
  },
  {
    name: 'emits nothing for a pairing reported again after a lost answer',
    before: row('connected', { jid: PAIRED.jid, businessName: 'Loja' }),
    updates: [update('connected', 9, { paired: PAIRED })],
    after: { jid: PAIRED.jid },
    visible: false,
  },
  {
    name: 'stores a new name within a state without an event',
    before: row('connected'),
    updates: [update('connected', 9, { business_name: 'Nova', lid: '1@lid' })],
    after: { businessName: 'Nova', lid: '1@lid' },
    visible: true,
  },
  {
    name: 'places a change dated before the current state at its start',
    before: row('connected', { stateChangedAt: at(10) }),
    updates: [update('disconnected', 3)],
    after: { stateChangedAt: at(10) },
    intervals: [['disconnected', 10]],
    events: [['instance.disconnected', { reason: null }]],
  },
  {
    name: 'places a change dated in the future at the current time',
    before: row('connecting'),
    updates: [update('connected', 59)],
    after: { stateChangedAt: NOW, offlineMs: 51_000n },
    intervals: [['connected', 50]],
    events: [['instance.connected', { jid: null }]],
  },
  {
    name: 'keeps the order and the intervals of several changes',
    before: row('connecting'),
    updates: [
      update('connected', 2),
      update('disconnected', 5),
      update('connecting', 6),
      update('connected', 9),
    ],
    after: { state: 'connected', offlineMs: 1000n + 2000n + 4000n },
    intervals: [
      ['connected', 2],
      ['disconnected', 5],
      ['connecting', 6],
      ['connected', 9],
    ],
    events: [
      ['instance.connected', { jid: null }],
      ['instance.disconnected', { reason: null }],
      ['instance.connected', { jid: null }],
    ],
  },
  {
    name: 'stores the end of a ban',
    before: row('connected'),
    updates: [update('banned', 4, { ban: { code: '402', expires_at: at(40).toISOString() } })],
    after: { bannedUntil: at(40) },
    intervals: [['banned', 4]],
    events: [['instance.banned', { code: '402', expires_at: at(40).toISOString() }]],
  },
  {
    name: 'clears the end of a ban afterwards',
    before: row('banned', { bannedUntil: at(3) }),
    updates: [update('connecting', 4)],
    after: { bannedUntil: null },
    intervals: [['connecting', 4]],
  },
  {
    name: 'stores the next reconnect',
    before: row('disconnected'),
    updates: [update('disconnected', 1, { reconnect: { count: 3, at: at(20).toISOString() } })],
    after: { reconnectCount: 3, reconnectAt: at(20) },
    visible: false,
  },
  {
    name: 'clears the next reconnect once connected',
    before: row('disconnected', { reconnectCount: 3, reconnectAt: at(20) }),
    updates: [update('connected', 21)],
    after: { reconnectCount: 0, reconnectAt: null },
    intervals: [['connected', 21]],
    events: [['instance.connected', { jid: null }]],
  },
  {
    name: 'clears the jid of an unlinked instance',
    before: row('connected', { jid: 'me', lid: '1@lid', businessName: 'Loja' }),
    updates: [update('logged_out', 4, { reason: 'device_removed' })],
    after: { jid: null, lid: null, businessName: null },
    intervals: [['logged_out', 4]],
    events: [['instance.logged_out', { reason: 'device_removed' }]],
  },
];

test.each(CASES)(
  '$name',
  ({ before, updates: given, after, intervals = [], events = [], visible, silent = 'lid' }) => {
    const outcome = decideStates(SUBJECT, before, given, NOW);
    const { isOther } = outcome;
    expect({ ...outcome.row, isOther }).toMatchObject(after);
    expect(outcome.intervals.map(({ state, since }) => [state, since])).toEqual(
      intervals.map(([state, second]) => [state, at(second)]),
    );
    expect(outcome.events.map(({ type, data }) => [type, data])).toEqual(
      events.map(([type, data]): unknown[] => [type, expect.objectContaining(data)]),
    );
    for (const { data } of outcome.events) expect(data).not.toHaveProperty(silent);
    expect(outcome.visible).toBe(visible ?? intervals.length > 0);
  },
);
