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
  businessName: null,
  firstPairedAt: null,
  firstConnectedAt: null,
  bannedUntil: null,
  reconnectCount: 0,
  reconnectAt: null,
  ...given,
});

const news = (state: InstanceState, second: number, given: Partial<StateUpdate> = {}): StateUpdate => {
  return { state, at: at(second), reason: null, ...given };
};
const PAIRED = { jid: '5511@s.whatsapp.net', business_name: 'Loja', platform: 'android' };

interface Case {
  is: string;
  before: InstanceStateRow;
  news: StateUpdate[];
  then: Partial<InstanceStateRow>;
  intervals?: [InstanceState, number][];
  events?: [string, Record<string, unknown>][];
  visible?: boolean;
}

const CASES: Case[] = [
  {
    is: 'time spent out is counted when it ends',
    before: row('connecting', { jid: 'me' }),
    news: [news('connected', 4)],
    then: { state: 'connected', stateChangedAt: at(4), offlineMs: 5000n, firstConnectedAt: at(4) },
    intervals: [['connected', 4]],
    events: [['instance.connected', { jid: 'me' }]],
  },
  {
    is: 'time spent connected is not',
    before: row('connected'),
    news: [news('disconnected', 4, { reason: 'connection_lost' })],
    then: { offlineMs: 1000n, stateReason: 'connection_lost' },
    intervals: [['disconnected', 4]],
    events: [['instance.disconnected', { reason: 'connection_lost' }]],
  },
  {
    is: 'a pairing is told before the connection, and the jid of both is the new one',
    before: row('connecting'),
    news: [news('connected', 4, { paired: PAIRED })],
    then: { jid: PAIRED.jid, businessName: 'Loja', firstPairedAt: at(4), firstConnectedAt: at(4) },
    intervals: [['connected', 4]],
    events: [
      ['instance.paired', PAIRED],
      ['instance.connected', { jid: PAIRED.jid }],
    ],
  },
  {
    is: 'the first pairing and connection stay the first',
    before: row('connecting', { firstPairedAt: at(-9), firstConnectedAt: at(-8) }),
    news: [news('connected', 4, { paired: PAIRED })],
    then: { firstPairedAt: at(-9), firstConnectedAt: at(-8) },
    intervals: [['connected', 4]],
    events: [
      ['instance.paired', PAIRED],
      ['instance.connected', { jid: PAIRED.jid }],
    ],
  },
  {
    is: 'the same state told again changes nothing',
    before: row('connected', { stateReason: null }),
    news: [news('connected', 9, { reason: 'again', paired: undefined })],
    then: { stateChangedAt: at(0), stateReason: null, offlineMs: 1000n },
    visible: false,
  },
  {
    is: 'a pairing told again after a lost answer emits nothing',
    before: row('connected', { jid: PAIRED.jid, businessName: 'Loja' }),
    news: [news('connected', 9, { paired: PAIRED })],
    then: { jid: PAIRED.jid },
    visible: false,
  },
  {
    is: 'a name learnt within a state is seen without an event',
    before: row('connected'),
    news: [news('connected', 9, { businessName: 'Nova' })],
    then: { businessName: 'Nova' },
    visible: true,
  },
  {
    is: 'a change from before the present state is placed at its beginning',
    before: row('connected', { stateChangedAt: at(10) }),
    news: [news('disconnected', 3)],
    then: { stateChangedAt: at(10) },
    intervals: [['disconnected', 10]],
    events: [['instance.disconnected', { reason: null }]],
  },
  {
    is: 'a change from the future is placed now',
    before: row('connecting'),
    news: [news('connected', 59)],
    then: { stateChangedAt: NOW, offlineMs: 51_000n },
    intervals: [['connected', 50]],
    events: [['instance.connected', { jid: null }]],
  },
  {
    is: 'several changes keep their order and their intervals',
    before: row('connecting'),
    news: [news('connected', 2), news('disconnected', 5), news('connecting', 6), news('connected', 9)],
    then: { state: 'connected', offlineMs: 1000n + 2000n + 4000n },
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
    is: 'a ban keeps its end',
    before: row('connected'),
    news: [news('banned', 4, { ban: { code: '402', expiresAt: at(40) } })],
    then: { bannedUntil: at(40) },
    intervals: [['banned', 4]],
    events: [['instance.banned', { code: '402', expires_at: at(40).toISOString() }]],
  },
  {
    is: 'after a ban its end is forgotten',
    before: row('banned', { bannedUntil: at(3) }),
    news: [news('connecting', 4)],
    then: { bannedUntil: null },
    intervals: [['connecting', 4]],
  },
  {
    is: 'the plan to reconnect is kept, and dropped once connected',
    before: row('disconnected'),
    news: [news('disconnected', 1, { reconnect: { count: 3, at: at(20) } })],
    then: { reconnectCount: 3, reconnectAt: at(20) },
    visible: false,
  },
  {
    is: 'a connection ends the plan to reconnect',
    before: row('disconnected', { reconnectCount: 3, reconnectAt: at(20) }),
    news: [news('connected', 21)],
    then: { reconnectCount: 0, reconnectAt: null },
    intervals: [['connected', 21]],
    events: [['instance.connected', { jid: null }]],
  },
  {
    is: 'a number that is unlinked is linked to no jid',
    before: row('connected', { jid: 'me', businessName: 'Loja' }),
    news: [news('logged_out', 4, { reason: 'device_removed' })],
    then: { jid: null, businessName: null },
    intervals: [['logged_out', 4]],
    events: [['instance.logged_out', { reason: 'device_removed' }]],
  },
];

test.each(CASES)('$is', ({ before, news: given, then, intervals = [], events = [], visible }) => {
  const outcome = decideStates(SUBJECT, before, given, NOW);
  expect(outcome.row).toMatchObject(then);
  expect(outcome.intervals.map(({ state, since }) => [state, since])).toEqual(
    intervals.map(([state, second]) => [state, at(second)]),
  );
  expect(outcome.events.map(({ type, data }) => [type, data])).toEqual(
    events.map(([type, data]): unknown[] => [type, expect.objectContaining(data)]),
  );
  expect(outcome.visible).toBe(visible ?? intervals.length > 0);
});
