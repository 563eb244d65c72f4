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
} from '@gwk/test/support/operator/build';
import { absent, decided, wanted, type Case } from '@gwk/test/support/operator/decision';
import { decide } from './decide.js';

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
    minutes(1) - 1500,
  ],
  [
    'an engine whose minute ended since the last observation is looked at again in a second',
    { projection: accepted({ lease: free }, { leaseFreeSince: NOW - minutes(1) }) },
    'EngineStarting',
    [],
    1000,
  ],
  [
    'an engine that has not held its free lease for a minute is replaced',
    { projection: accepted({ lease: free }, { leaseFreeSince: NOW - minutes(2) }) },
    'EngineUnresponsive',
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
    'EngineExited',
    [`report-ended ${POD}`, `delete-pod ${POD}`],
  ],
  [
    'an engine that ended is reported though the instance is suspended',
    { pod: endedPod(), resource: resource({ suspended: true }) },
    'EngineExited',
    [`report-ended ${POD}`, `delete-pod ${POD}`],
  ],
  [
    'an engine that ended is reported though the API has not answered yet',
    { pod: endedPod(), projection: { kind: 'unknown', error: null } },
    'EngineExited',
    [`report-ended ${POD}`, `delete-pod ${POD}`],
  ],
  ['an engine that is ending is waited for', { pod: livePod('ending') }, 'EngineStopping', []],
  [
    'a pod on a node that does not answer is neither replaced nor forgotten',
    { pod: livePod('unknown') },
    'NodeUnreachable',
    [],
    10_000,
  ],
  ['a pod without a resource is stopped', { resource: null }, 'ResourceDeleted', [`delete-pod ${POD}`]],
  ['nothing is done where neither is', { resource: null, pod: absent }, 'ResourceDeleted', []],
  [
    'the pod of a former resource of the same name is stopped first',
    { pod: livePod('running', { uid: 'another' }) },
    'PreviousPodRunning',
    [`delete-pod ${POD}`],
  ],
  [
    'the pod of a former resource is stopped before the new one is even held',
    { pod: livePod('starting', { uid: 'another' }), resource: resource({}, { finalizers: [] }) },
    'PreviousPodRunning',
    [`delete-pod ${POD}`],
  ],
];

const ACCEPTANCE: Case[] = [
  [
    'a resource seen for the first time is held before anything else',
    { resource: resource({}, { finalizers: [] }), pod: absent, projection: { kind: 'unknown', error: null } },
    'FinalizerMissing',
    ['add-finalizer'],
  ],
  [
    'without an answer of the API nothing is started',
    { pod: absent, projection: { kind: 'unknown', error: 'down' } },
    'WaitingForAPI',
    [],
  ],
  [
    'without an answer of the API nothing is stopped',
    { projection: { kind: 'unknown', error: 'down' } },
    'WaitingForAPI',
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
    'DeletedThroughAPI',
    [`delete-pod ${POD}`, 'delete-resource'],
  ],
];

describe.each([
  ['the engine', ENGINE],
  ['what may still run', PODS],
  ['acceptance', ACCEPTANCE],
])('%s', (_, cases) => {
  test.each(cases)('%s', (...row) => expect(decided(row)).toEqual(wanted(row)));
});

test('a pod is made for the instance that the row names, as the resource wants it', () => {
  const special = { pod: absent, resource: resource({ logLevel: 'debug', engine: { profile: 'large' } }) };
  expect(decide(observed(special)).actions).toEqual([
    { do: 'create-pod', instanceId: ID, template: { profile: 'large', logLevel: 'debug', revision: 'r1' } },
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
  const worlds = [ENGINE, PODS, ACCEPTANCE].flat();
  for (const pod of pods) {
    for (const [, special] of worlds) {
      const does = decide(observed({ ...special, pod })).actions.map((action) => action.do);
      if (pod.phase !== 'absent') expect(does).not.toContain('create-pod');
      else expect(does).not.toContain('delete-pod');
      if (pod.phase !== 'absent') expect(does).not.toContain('remove-finalizer');
    }
  }
});
