import { accepted, at, free, livePod, minutes, NOW, POD, resource } from '@gwk/test/support/operator/build';
import { absent, decided, deleting, unpaired, wanted, type Case } from '@gwk/test/support/operator/decision';
import { NO_HISTORY } from './history.js';

const WANTED: Case[] = [
  [
    'a suspended instance loses its engine',
    { resource: resource({ suspended: true }) },
    'Suspended',
    [`delete-pod ${POD}`],
    null,
  ],
  [
    'a suspended instance without an engine rests',
    { resource: resource({ suspended: true }), pod: absent },
    'Suspended',
    [],
    null,
  ],
  [
    'a suspended sandbox loses its engine too',
    { resource: resource({ suspended: true, kind: 'sandbox' }) },
    'Suspended',
    [`delete-pod ${POD}`],
  ],
  [
    'a ban without an end takes the engine away',
    { projection: accepted({ state: 'banned' }) },
    'Banned',
    [`delete-pod ${POD}`],
  ],
  [
    'a ban that ends keeps its engine, which waits',
    { projection: accepted({ state: 'banned', banned_until: at(NOW + minutes(60)) }) },
    'EngineRunning',
    [],
  ],
  [
    'an engine is started during a ban that ends',
    {
      pod: absent,
      projection: accepted({ state: 'banned', banned_until: at(NOW + minutes(60)), lease: free }),
    },
    'EngineAbsent',
    ['create-pod'],
  ],
  [
    'a disconnected instance keeps its engine',
    { projection: accepted({ state: 'disconnected' }) },
    'EngineRunning',
    [],
  ],
  [
    'a new web instance gets an engine for its first minutes',
    {
      pod: absent,
      projection: accepted({ ...unpaired, lease: free, state_changed_at: at(NOW - minutes(1)) }),
    },
    'EngineAbsent',
    ['create-pod'],
    minutes(9),
  ],
  [
    'a never paired instance keeps its engine until it is idle, and is looked at then',
    { projection: accepted({ ...unpaired, state_changed_at: at(NOW - minutes(7)) }) },
    'EngineRunning',
    [],
    minutes(3),
  ],
  [
    'a never paired instance idle for ten minutes loses its engine',
    { projection: accepted({ ...unpaired, state_changed_at: at(NOW - minutes(10)) }, { observedAt: NOW }) },
    'Idle',
    [`delete-pod ${POD}`],
  ],
  [
    'one that was last seen before its ten minutes were over keeps its engine until it is seen again: a pairing may be under way',
    {
      projection: accepted(
        { ...unpaired, state_changed_at: at(NOW - minutes(12)) },
        { observedAt: NOW - minutes(2) - 1 },
      ),
    },
    'EngineRunning',
    [],
    1000,
  ],
  [
    'the same after a pairing session that ended ten minutes ago',
    {
      projection: accepted(
        { ...unpaired, state_changed_at: at(NOW - minutes(90)) },
        { pairingSeenAt: NOW - minutes(10), observedAt: NOW - 1 },
      ),
    },
    'EngineRunning',
    [],
    1000,
  ],
  [
    'an idle instance without an engine rests',
    {
      pod: absent,
      projection: accepted({ ...unpaired, lease: free, state_changed_at: at(NOW - minutes(90)) }),
    },
    'Idle',
    [],
  ],
  [
    'a pairing session starts the engine of an idle instance',
    {
      pod: absent,
      projection: accepted({
        ...unpaired,
        lease: free,
        pairing: true,
        state_changed_at: at(NOW - minutes(90)),
      }),
    },
    'EngineAbsent',
    ['create-pod'],
    null,
  ],
  [
    'a pairing session that ended a minute ago keeps the engine for nine more',
    {
      projection: accepted(
        { ...unpaired, state_changed_at: at(NOW - minutes(90)) },
        { pairingSeenAt: NOW - minutes(1) },
      ),
    },
    'EngineRunning',
    [],
    minutes(9),
  ],
  [
    'a number unlinked on the phone is idle ten minutes later',
    { projection: accepted({ state: 'logged_out', state_changed_at: at(NOW - minutes(11)) }) },
    'Idle',
    [`delete-pod ${POD}`],
  ],
  [
    'a number logged out through the API is idle ten minutes later',
    { projection: accepted({ state: 'pending_pair', state_changed_at: at(NOW - minutes(11)) }) },
    'Idle',
    [`delete-pod ${POD}`],
  ],
  [
    'a new sandbox has an engine: it connects by itself',
    {
      pod: absent,
      resource: resource({ kind: 'sandbox' }),
      projection: accepted({
        state: 'connecting',
        first_paired_at: null,
        lease: free,
        state_changed_at: at(NOW - minutes(999)),
      }),
    },
    'EngineAbsent',
    ['create-pod'],
    null,
  ],
  [
    'a sandbox that was logged out is idle as any other number is',
    {
      resource: resource({ kind: 'sandbox' }),
      projection: accepted({ state: 'pending_pair', state_changed_at: at(NOW - minutes(11)) }),
    },
    'Idle',
    [`delete-pod ${POD}`],
  ],
];

const failed = (failures: number, nextStartAt: number) => ({
  ...NO_HISTORY,
  failures,
  nextStartAt,
  lastError: 'exit code 1',
});

const RESTARTS: Case[] = [
  [
    'a first end is followed by a start at once',
    { pod: absent, history: failed(1, NOW - 100) },
    'EngineAbsent',
    ['create-pod'],
  ],
  [
    'a second end waits for its time',
    { pod: absent, history: failed(2, NOW + 900) },
    'WaitingToRestart',
    [],
    900,
  ],
  [
    'the third end in a row is a crash loop',
    { pod: absent, history: failed(3, NOW + 1900) },
    'CrashLoop',
    [],
    1900,
  ],
  [
    'when the time has come, it starts',
    { pod: absent, history: failed(9, NOW) },
    'EngineAbsent',
    ['create-pod'],
  ],
  [
    'a suspension ends the waiting',
    { pod: absent, history: failed(9, NOW + 60_000), resource: resource({ suspended: true }) },
    'Suspended',
    [],
    null,
  ],
];

const DELETION: Case[] = [
  ['the engine is stopped first', deleting(), 'Deleting', [`delete-pod ${POD}`]],
  [
    'an engine that is still ending is waited for',
    deleting({ pod: livePod('ending') }),
    'EngineStopping',
    [],
  ],
  ['then the row is removed', deleting({ pod: absent }), 'Deleting', ['remove-row']],
  [
    'the row is removed though the API never accepted it',
    deleting({ pod: absent, projection: { kind: 'unknown', error: null } }),
    'Deleting',
    ['remove-row'],
  ],
  [
    'then the resource is let go',
    deleting({ pod: absent, removal: { requested: true, leaseEndsAt: null } }),
    'Deleting',
    ['remove-finalizer'],
  ],
  [
    'a lease held elsewhere is waited for',
    deleting({ pod: absent, removal: { requested: true, leaseEndsAt: NOW + 20_000 } }),
    'Deleting',
    [],
    21_000,
  ],
  [
    'once that lease must have ended, the row is looked at again',
    deleting({ pod: absent, removal: { requested: true, leaseEndsAt: NOW - 1000 } }),
    'Deleting',
    ['remove-row'],
  ],
  [
    'a resource that we do not hold is left to others',
    {
      ...deleting({ pod: absent }),
      resource: resource({}, { deletionTimestamp: at(NOW), finalizers: ['other/holder'] }),
    },
    'Deleting',
    [],
  ],
];

describe.each([
  ['when an engine is wanted', WANTED],
  ['restarts', RESTARTS],
  ['deletion', DELETION],
])('%s', (_, cases) => {
  test.each(cases)('%s', (...row) => expect(decided(row)).toEqual(wanted(row)));
});
