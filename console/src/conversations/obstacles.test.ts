import { findObstacle } from './obstacles.js';

const NOON = Date.parse('2026-03-02T12:00:00Z');
const HOURS = { start: '08:00', end: '11:30', timezone: 'UTC', outside: 'reject' as const };
const NIGHT = { ...HOURS, start: '22:00', end: '06:00' };
const FREE = {
  maySend: true,
  conversation: { kind: 'contact' as const, opted_out: false },
  instance: { state: 'connected' as const },
  restrictedUntil: null,
  hours: null,
  lastReceived: '2026-03-02T11:00:00Z',
  now: NOON,
};
const LATER = '2026-03-02T13:00:00Z';
const LONG_AGO = '2026-03-01T12:00:00Z';

test.each<[string, Partial<Parameters<typeof findObstacle>[0]>, ReturnType<typeof findObstacle>]>([
  ['nothing', {}, null],
  ['the role', { maySend: false }, { code: 'role', blocks: true }],
  ['a broadcast list', { conversation: { kind: 'other', opted_out: false } }, { code: 'kind', blocks: true }],
  ['a deleted number', { instance: undefined }, { code: 'deleted', blocks: true }],
  ['an opt-out', { conversation: { kind: 'contact', opted_out: true } }, { code: 'optedOut', blocks: true }],
  ['a logout', { instance: { state: 'logged_out' } }, { code: 'notPaired', blocks: true }],
  ['a number without a phone', { instance: { state: 'pending_pair' } }, { code: 'notPaired', blocks: true }],
  ['a ban', { instance: { state: 'banned' } }, { code: 'banned', blocks: true }],
  ['a lost connection', { instance: { state: 'disconnected' } }, { code: 'offline', blocks: false }],
  [
    'a restriction, for new contacts',
    { restrictedUntil: LATER, lastReceived: null },
    { code: 'restricted', blocks: false, until: LATER },
  ],
  ['no restriction, for a contact who wrote', { restrictedUntil: LATER }, null],
  ['no restriction that is over', { restrictedUntil: LONG_AGO, lastReceived: null }, null],
  [
    'the hours, a day after the contact wrote',
    { hours: HOURS, lastReceived: LONG_AGO },
    { code: 'hours', blocks: false, until: '08:00' },
  ],
  [
    'hours that delay',
    { hours: { ...HOURS, outside: 'schedule' }, lastReceived: null },
    { code: 'waitsForHours', blocks: false, until: '08:00' },
  ],
  [
    'hours over midnight',
    { hours: NIGHT, lastReceived: null },
    { code: 'hours', blocks: false, until: '22:00' },
  ],
  ['no hours, for a contact who wrote today', { hours: HOURS }, null],
  ['no hours, within them', { hours: { ...HOURS, end: '12:01' }, lastReceived: null }, null],
  [
    'no hours, for a group',
    { hours: HOURS, lastReceived: null, conversation: { kind: 'group', opted_out: false } },
    null,
  ],
  [
    'hours of another time zone',
    { hours: { ...HOURS, timezone: 'America/Sao_Paulo' }, lastReceived: null },
    null,
  ],
])('finds %s', (_name, situation, obstacle) => {
  expect(findObstacle({ ...FREE, ...situation })).toEqual(obstacle);
});
