import type { Pod } from '../cluster/cluster.js';
import {
  accepted,
  at,
  endedPod,
  free,
  heldBy,
  ID,
  known,
  livePod,
  minutes,
  NOW,
  observed,
  POD,
  resource,
} from '../testing/build.js';
import { decide, type Action } from './decide.js';
import { NO_HISTORY } from './history.js';
import type { Observed } from './observed.js';

type Case = [
  sentence: string,
  special: Partial<Observed>,
  finding: string,
  actions: string[],
  againMs?: number | null,
];

function check([, special, finding, actions, againMs]: Case): void {
  const decision = decide(observed(special));
  expect(decision.finding).toBe(finding);
  expect(decision.actions.map(inWords)).toEqual(actions);
  if (againMs !== undefined) expect(decision.againMs).toBe(againMs);
}

function inWords(action: Action): string {
  return 'name' in action ? `${action.do} ${action.name}` : action.do;
}

const absent: Pod = { phase: 'absent' };
const unpaired = { state: 'pending_pair', jid: null, first_paired_at: null } as const;
const deleting = (special: Partial<Observed> = {}): Partial<Observed> => ({
  resource: resource({}, { deletionTimestamp: at(NOW) }),
  ...special,
});

const ENGINE: Case[] = [
  ['an engine that runs and holds its number is left alone', {}, 'EngineRunning', [], null],
  ['an instance without a pod gets one', { pod: absent }, 'EngineAbsent', ['create-pod']],
  [
    'an instance without a pod whose lease another pod still holds gets one too: it waits for the lease',
    { pod: absent, projection: accepted({ lease: heldBy('ins-1-elsewhere') }) },
    'EngineAbsent',
    ['create-pod'],
  ],
  [
    'a pod that is starting is waited for',
    { pod: livePod('starting'), projection: accepted({ lease: free }) },
    'EngineStarting',
    [],
  ],
  [
    'an engine that runs and has not taken the lease yet is starting',
    { projection: accepted({ lease: free }) },
    'EngineStarting',
    [],
  ],
  [
    'an engine whose lease ended unrenewed a moment ago is given time',
    {
      projection: accepted(
        { lease: { pod: POD, epoch: 4, expires_at: at(NOW - 2000) } },
        { leaseFreeSince: NOW - 2000 },
      ),
    },
    'EngineStarting',
    [],
  ],
  [
    'an engine that has not held its free lease for a minute is replaced',
    { projection: accepted({ lease: free }, { leaseFreeSince: NOW - minutes(2) }) },
    'EngineSilent',
    [`delete-pod ${POD}`],
  ],
  [
    'an engine that started less than a minute ago is not silent, however long the lease has been free',
    {
      pod: livePod('running', { startedAt: NOW - 50_000 }),
      projection: accepted({ lease: free }, { leaseFreeSince: NOW - minutes(9) }),
    },
    'EngineStarting',
    [],
  ],
  [
    'an engine is not silent on the word of an old observation',
    {
      pod: livePod('running', { startedAt: NOW - minutes(5) }),
      projection: accepted(
        { lease: free },
        { leaseFreeSince: NOW - minutes(5), observedAt: NOW - minutes(4.5) },
      ),
    },
    'EngineStarting',
    [],
  ],
  [
    'an engine that was started with another log level is replaced',
    { resource: resource({ logLevel: 'debug' }) },
    'EngineOutdated',
    [`delete-pod ${POD}`],
  ],
  [
    'an engine that was started with another profile is replaced',
    { resource: resource({ engine: { profile: 'large' } }) },
    'EngineOutdated',
    [`delete-pod ${POD}`],
  ],
  [
    'a change that the row carries restarts nothing',
    {
      resource: resource(
        { interactiveMode: 'text', policy: { menu_ttl_hours: 2 }, displayName: 'New' },
        { generation: 2 },
      ),
    },
    'EngineRunning',
    [],
  ],
];

const PODS: Case[] = [
  [
    'an engine that ended is reported before it is forgotten, and nothing is started in the same pass',
    { pod: endedPod() },
    'EngineEnded',
    [`report-ended ${POD}`, `delete-pod ${POD}`],
  ],
  [
    'an engine that ended is reported though the instance is suspended',
    { pod: endedPod(), resource: resource({ suspended: true }) },
    'EngineEnded',
    [`report-ended ${POD}`, `delete-pod ${POD}`],
  ],
  [
    'an engine that ended is reported though the API has not answered yet',
    { pod: endedPod(), projection: { kind: 'unknown', error: null } },
    'EngineEnded',
    [`report-ended ${POD}`, `delete-pod ${POD}`],
  ],
  ['an engine that is ending is waited for', { pod: livePod('ending') }, 'EngineEnding', []],
  [
    'a pod on a node that does not answer is neither replaced nor forgotten',
    { pod: livePod('unknown') },
    'NodeUnreachable',
    [],
    10_000,
  ],
  [
    'a pod on a node that does not answer holds up the deletion',
    deleting({ pod: livePod('unknown') }),
    'NodeUnreachable',
    [],
  ],
  ['a pod without a resource is stopped', { resource: null }, 'ResourceGone', [`delete-pod ${POD}`]],
  ['nothing is done where neither is', { resource: null, pod: absent }, 'ResourceGone', []],
  [
    'the pod of a former resource of the same name is stopped first',
    { pod: livePod('running', { uid: 'another' }) },
    'FormerPod',
    [`delete-pod ${POD}`],
  ],
  [
    'the pod of a former resource is stopped before the new one is even held',
    { pod: livePod('starting', { uid: 'another' }), resource: resource({}, { finalizers: [] }) },
    'FormerPod',
    [`delete-pod ${POD}`],
  ],
];

const ACCEPTANCE: Case[] = [
  [
    'a resource seen for the first time is held before anything else',
    { resource: resource({}, { finalizers: [] }), pod: absent, projection: { kind: 'unknown', error: null } },
    'NotYetHeld',
    ['add-finalizer'],
  ],
  [
    'without an answer of the API nothing is started',
    { pod: absent, projection: { kind: 'unknown', error: 'down' } },
    'NotProjected',
    [],
  ],
  [
    'without an answer of the API nothing is stopped',
    { projection: { kind: 'unknown', error: 'down' } },
    'NotProjected',
    [],
  ],
  [
    'a resource that was never accepted gets no pod and is asked about again',
    {
      pod: absent,
      projection: {
        kind: 'rejected',
        generation: 1,
        reason: 'InstanceLimitReached',
        message: 'full',
        known: null,
      },
    },
    'NotAccepted',
    [],
    30_000,
  ],
  [
    'a resource without a row loses its pod when it is not accepted',
    { projection: { kind: 'rejected', generation: 1, reason: 'NameTaken', message: 'taken', known: null } },
    'NotAccepted',
    [`delete-pod ${POD}`],
    30_000,
  ],
  [
    'a refused change of an instance that has its row leaves its engine running',
    {
      projection: {
        kind: 'rejected',
        generation: 2,
        reason: 'InvalidSpec',
        message: 'policy',
        known: known(),
      },
    },
    'EngineRunning',
    [],
    30_000,
  ],
  [
    'an account closed to the namespace stops the engine, row or not',
    {
      projection: {
        kind: 'rejected',
        generation: 1,
        reason: 'AccountNotAllowed',
        message: 'no',
        known: known(),
      },
    },
    'NotAccepted',
    [`delete-pod ${POD}`],
  ],
  [
    'an instance deleted through the API loses its engine and its resource',
    { projection: { kind: 'rejected', generation: 1, reason: 'Deleted', message: 'gone', known: null } },
    'DeletedElsewhere',
    [`delete-pod ${POD}`, 'delete-resource'],
  ],
];

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
    { projection: accepted({ ...unpaired, state_changed_at: at(NOW - minutes(10)) }) },
    'Idle',
    [`delete-pod ${POD}`],
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
    'a sandbox always has an engine',
    {
      pod: absent,
      resource: resource({ kind: 'sandbox' }),
      projection: accepted({ ...unpaired, lease: free, state_changed_at: at(NOW - minutes(999)) }),
    },
    'EngineAbsent',
    ['create-pod'],
    null,
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
  ['an engine that is still ending is waited for', deleting({ pod: livePod('ending') }), 'EngineEnding', []],
  ['then the row is removed', deleting({ pod: absent }), 'Deleting', ['remove-row']],
  [
    'the row is removed though the API never accepted it',
    deleting({ pod: absent, projection: { kind: 'unknown', error: null } }),
    'Deleting',
    ['remove-row'],
  ],
  [
    'then the resource is let go',
    deleting({ pod: absent, removal: { asked: true, leaseEndsAt: null } }),
    'Deleting',
    ['remove-finalizer'],
  ],
  [
    'a lease held elsewhere is waited for',
    deleting({ pod: absent, removal: { asked: true, leaseEndsAt: NOW + 20_000 } }),
    'Deleting',
    [],
    21_000,
  ],
  [
    'once that lease must have ended, the row is looked at again',
    deleting({ pod: absent, removal: { asked: true, leaseEndsAt: NOW - 1000 } }),
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
  ['the engine', ENGINE],
  ['what may still run', PODS],
  ['acceptance', ACCEPTANCE],
  ['when an engine is wanted', WANTED],
  ['restarts', RESTARTS],
  ['deletion', DELETION],
])('%s', (_, cases) => {
  test.each(cases)('%s', (...row) => check(row));
});

test('a pod is made for the instance that the row names, as the resource wants it', () => {
  const special = { pod: absent, resource: resource({ logLevel: 'debug', engine: { profile: 'large' } }) };
  expect(decide(observed(special)).actions).toEqual([
    { do: 'create-pod', instanceId: ID, template: { profile: 'large', logLevel: 'debug' } },
  ]);
});

test('whatever else is so, a pass creates no pod while one is not absent, and stops none that is absent', () => {
  const pods: Pod[] = [
    absent,
    livePod('starting'),
    livePod('running'),
    livePod('ending'),
    livePod('unknown'),
    endedPod(),
  ];
  const worlds = [ENGINE, PODS, ACCEPTANCE, WANTED, RESTARTS, DELETION].flat();
  for (const pod of pods) {
    for (const [, special] of worlds) {
      const does = decide(observed({ ...special, pod })).actions.map((action) => action.do);
      if (pod.phase !== 'absent') expect(does).not.toContain('create-pod');
      else expect(does).not.toContain('delete-pod');
      if (pod.phase !== 'absent') expect(does).not.toContain('remove-finalizer');
    }
  }
});
