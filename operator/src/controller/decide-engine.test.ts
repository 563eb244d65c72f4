import { accepted, at, free, livePod, minutes, NOW, POD, resource } from '@gwk/test/support/operator/build';
import { absent, decided, deleting, unpaired, wanted, type Case } from '@gwk/test/support/operator/decision';
import { NO_HISTORY } from './history.js';

const WANTED: Case[] = [
  [
    'stops the engine of a suspended instance',
    { resource: resource({ suspended: true }) },
    'Suspended',
    [`delete-pod ${POD}`],
    null,
  ],
  [
    'does nothing for a suspended instance without an engine',
    { resource: resource({ suspended: true }), pod: absent },
    'Suspended',
    [],
    null,
  ],
  [
    'stops the engine of a suspended sandbox',
    { resource: resource({ suspended: true, kind: 'sandbox' }) },
    'Suspended',
    [`delete-pod ${POD}`],
  ],
  [
    'stops the engine on a permanent ban',
    { projection: accepted({ state: 'banned' }) },
    'Banned',
    [`delete-pod ${POD}`],
  ],
  [
    'keeps the engine during a temporary ban',
    { projection: accepted({ state: 'banned', banned_until: at(NOW + minutes(60)) }) },
    'EngineRunning',
    [],
  ],
  [
    'starts an engine during a temporary ban',
    {
      pod: absent,
      projection: accepted({ state: 'banned', banned_until: at(NOW + minutes(60)), lease: free }),
    },
    'EngineAbsent',
    ['create-pod'],
  ],
  [
    'keeps the engine of a disconnected instance',
    { projection: accepted({ state: 'disconnected' }) },
    'EngineRunning',
    [],
  ],
  [
    'starts an engine for the first minutes of a new web instance',
    {
      pod: absent,
      projection: accepted({ ...unpaired, lease: free, state_changed_at: at(NOW - minutes(1)) }),
    },
    'EngineAbsent',
    ['create-pod'],
    minutes(9),
  ],
  [
    'starts no engine for a new web instance beside too many unpaired ones',
    {
      pod: absent,
      unpairedEngines: 3,
      projection: accepted({ ...unpaired, lease: free, state_changed_at: at(NOW - minutes(1)) }),
    },
    'Idle',
    [],
    minutes(9),
  ],
  [
    'starts an engine for a pairing beside too many unpaired instances',
    {
      pod: absent,
      unpairedEngines: 3,
      projection: accepted({ ...unpaired, lease: free, pairing: true }),
    },
    'EngineAbsent',
    ['create-pod'],
  ],
  [
    'keeps the engine of a new web instance beside too many unpaired ones',
    { unpairedEngines: 3, projection: accepted({ ...unpaired, state_changed_at: at(NOW - minutes(1)) }) },
    'EngineRunning',
    [],
  ],
  [
    'keeps the engine of an unpaired instance until it is idle',
    { projection: accepted({ ...unpaired, state_changed_at: at(NOW - minutes(7)) }) },
    'EngineRunning',
    [],
    minutes(3),
  ],
  [
    'stops the engine of an unpaired instance after 10 idle minutes',
    { projection: accepted({ ...unpaired, state_changed_at: at(NOW - minutes(10)) }, { observedAt: NOW }) },
    'Idle',
    [`delete-pod ${POD}`],
  ],
  [
    'keeps the engine until a new observation confirms that no pairing is active',
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
    'waits for a new observation 10 minutes after a pairing session',
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
    'does nothing for an idle instance without an engine',
    {
      pod: absent,
      projection: accepted({ ...unpaired, lease: free, state_changed_at: at(NOW - minutes(90)) }),
    },
    'Idle',
    [],
  ],
  [
    'starts the engine of an idle instance for a pairing session',
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
    'keeps the engine for 10 minutes after a pairing session',
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
    'treats an instance as idle 10 minutes after it was unlinked on the phone',
    { projection: accepted({ state: 'logged_out', state_changed_at: at(NOW - minutes(11)) }) },
    'Idle',
    [`delete-pod ${POD}`],
  ],
  [
    'treats an instance as idle 10 minutes after a logout through the API',
    { projection: accepted({ state: 'pending_pair', state_changed_at: at(NOW - minutes(11)) }) },
    'Idle',
    [`delete-pod ${POD}`],
  ],
  [
    'starts an engine for a new sandbox, which connects by itself',
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
    'treats a logged-out sandbox as idle',
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
    'restarts at once after the first exit',
    { pod: absent, history: failed(1, NOW - 100) },
    'EngineAbsent',
    ['create-pod'],
  ],
  [
    'delays the restart after a second exit, and looks again after a second at the earliest',
    { pod: absent, history: failed(2, NOW + 900) },
    'WaitingToRestart',
    [],
    1000,
  ],
  [
    'reports a crash loop after the third exit in a row',
    { pod: absent, history: failed(3, NOW + 1900) },
    'CrashLoop',
    [],
    1900,
  ],
  [
    'restarts at the end of the backoff',
    { pod: absent, history: failed(9, NOW) },
    'EngineAbsent',
    ['create-pod'],
  ],
  [
    'ends the backoff on suspend',
    { pod: absent, history: failed(9, NOW + 60_000), resource: resource({ suspended: true }) },
    'Suspended',
    [],
    null,
  ],
];

const DELETION: Case[] = [
  ['first stops the engine', deleting(), 'Deleting', [`delete-pod ${POD}`]],
  ['waits for a stopping engine', deleting({ pod: livePod('ending') }), 'EngineStopping', []],
  ['then removes the row', deleting({ pod: absent }), 'Deleting', ['remove-row']],
  [
    'removes the row even if the API never accepted it',
    deleting({ pod: absent, projection: { kind: 'unknown', error: null } }),
    'Deleting',
    ['remove-row'],
  ],
  [
    'then removes the finalizer',
    deleting({ pod: absent, removal: { requested: true, leaseEndsAt: null } }),
    'Deleting',
    ['remove-finalizer'],
  ],
  [
    'waits for the lease of another engine',
    deleting({ pod: absent, removal: { requested: true, leaseEndsAt: NOW + 20_000 } }),
    'Deleting',
    [],
    21_000,
  ],
  [
    'removes the row again once that lease must have ended',
    deleting({ pod: absent, removal: { requested: true, leaseEndsAt: NOW - 1000 } }),
    'Deleting',
    ['remove-row'],
  ],
  [
    'ignores a resource without its finalizer',
    {
      ...deleting({ pod: absent }),
      resource: resource({}, { deletionTimestamp: at(NOW), finalizers: ['other/holder'] }),
    },
    'Deleting',
    [],
  ],
];

describe.each([
  ['decide by instance state', WANTED],
  ['decide after exits', RESTARTS],
  ['decide on deletion', DELETION],
])('%s', (_, cases) => {
  test.each(cases)('%s', (...row) => expect(decided(row)).toEqual(wanted(row)));
});
