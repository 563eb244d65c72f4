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
  ['keeps an engine that runs and holds its lease', {}, 'EngineRunning', [], null],
  ['creates a missing pod', { pod: absent }, 'EngineAbsent', ['create-pod']],
  [
    'creates a missing pod although another pod still holds the lease',
    { pod: absent, projection: accepted({ lease: heldBy('ins-1-elsewhere') }) },
    'EngineAbsent',
    ['create-pod'],
  ],
  [
    'waits for a starting pod',
    { pod: livePod('starting'), projection: accepted({ lease: free }) },
    'EngineStarting',
    [],
  ],
  [
    'verifies a starting pod of another operator',
    { pod: livePod('starting', { unverified: true }), projection: accepted({ lease: free }) },
    'EngineStarting',
    [`verify-pod ${POD}`],
  ],
  [
    'verifies a pod that waits for its container',
    {
      pod: livePod('starting', {
        unverified: true,
        waiting: { reason: 'ContainerNotStarted', message: 'CreateContainerConfigError' },
      }),
      projection: accepted({ lease: free }),
    },
    'ContainerNotStarted',
    [`verify-pod ${POD}`],
  ],
  [
    'treats a running engine without a lease as starting',
    { projection: accepted({ lease: free }) },
    'EngineStarting',
    [],
  ],
  [
    'waits after a lease has just expired',
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
    'rechecks in a second when the timeout ended after the last observation',
    { projection: accepted({ lease: free }, { leaseFreeSince: NOW - minutes(1) }) },
    'EngineStarting',
    [],
    1000,
  ],
  [
    'replaces an engine that has not taken its free lease for a minute',
    { projection: accepted({ lease: free }, { leaseFreeSince: NOW - minutes(2) }) },
    'EngineUnresponsive',
    [`delete-pod ${POD}`],
  ],
  [
    'waits for an engine that started less than a minute ago',
    {
      pod: livePod('running', { startedAt: NOW - 50_000 }),
      projection: accepted({ lease: free }, { leaseFreeSince: NOW - minutes(9) }),
    },
    'EngineStarting',
    [],
  ],
  [
    'does not replace an engine because of an old observation',
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
    'replaces an engine with another log level',
    { resource: resource({ logLevel: 'debug' }) },
    'EngineOutdated',
    [`delete-pod ${POD}`],
  ],
  [
    'replaces an engine with another profile',
    { resource: resource({ engine: { profile: 'large' } }) },
    'EngineOutdated',
    [`delete-pod ${POD}`],
  ],
  [
    'restarts nothing for a change that only concerns the row',
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
    'reports an exit before deleting the pod, and starts nothing',
    { pod: endedPod() },
    'EngineExited',
    [`report-ended ${POD}`, `delete-pod ${POD}`],
  ],
  [
    'reports an exit of a suspended instance',
    { pod: endedPod(), resource: resource({ suspended: true }) },
    'EngineExited',
    [`report-ended ${POD}`, `delete-pod ${POD}`],
  ],
  [
    'reports an exit before the API has answered',
    { pod: endedPod(), projection: { kind: 'unknown', error: null } },
    'EngineExited',
    [`report-ended ${POD}`, `delete-pod ${POD}`],
  ],
  ['waits for an engine that is stopping', { pod: livePod('ending') }, 'EngineStopping', []],
  [
    'neither replaces nor deletes a pod on an unreachable node',
    { pod: livePod('unknown') },
    'NodeUnreachable',
    [],
    10_000,
  ],
  ['stops a pod without a resource', { resource: null }, 'ResourceDeleted', [`delete-pod ${POD}`]],
  ['does nothing without resource and pod', { resource: null, pod: absent }, 'ResourceDeleted', []],
  [
    'first stops the pod of a previous resource with the same name',
    { pod: livePod('running', { uid: 'another' }) },
    'PreviousPodRunning',
    [`delete-pod ${POD}`],
  ],
  [
    'stops the pod of a previous resource before it adds the finalizer',
    { pod: livePod('starting', { uid: 'another' }), resource: resource({}, { finalizers: [] }) },
    'PreviousPodRunning',
    [`delete-pod ${POD}`],
  ],
];

const ACCEPTANCE: Case[] = [
  [
    'first adds the finalizer to a new resource',
    { resource: resource({}, { finalizers: [] }), pod: absent, projection: { kind: 'unknown', error: null } },
    'FinalizerMissing',
    ['add-finalizer'],
  ],
  [
    'starts nothing without an answer from the API',
    { pod: absent, projection: { kind: 'unknown', error: 'down' } },
    'WaitingForAPI',
    [],
  ],
  [
    'stops nothing without an answer from the API',
    { projection: { kind: 'unknown', error: 'down' } },
    'WaitingForAPI',
    [],
  ],
  [
    'creates no pod for a rejected resource and rechecks it',
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
    'stops the pod of a rejected resource without a row',
    { projection: { kind: 'rejected', generation: 1, reason: 'NameTaken', message: 'taken', known: null } },
    'NotAccepted',
    [`delete-pod ${POD}`],
    30_000,
  ],
  [
    'keeps the engine of a rejected change if the instance has a row',
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
    'stops the engine if the account is closed to the namespace',
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
    'deletes engine and resource of an instance deleted through the API',
    { projection: { kind: 'rejected', generation: 1, reason: 'Deleted', message: 'gone', known: null } },
    'DeletedThroughAPI',
    [`delete-pod ${POD}`, 'delete-resource'],
  ],
];

describe.each([
  ['decide for a running engine', ENGINE],
  ['decide by pod phase', PODS],
  ['decide by projection', ACCEPTANCE],
])('%s', (_, cases) => {
  test.each(cases)('%s', (...row) => expect(decided(row)).toEqual(wanted(row)));
});

test("creates the pod with the row's id and the resource's settings", () => {
  const special = { pod: absent, resource: resource({ logLevel: 'debug', engine: { profile: 'large' } }) };
  expect(decide(observed(special)).actions).toEqual([
    { do: 'create-pod', instanceId: ID, template: { profile: 'large', logLevel: 'debug', revision: 'r1' } },
  ]);
});

test('never creates a second pod and never stops an absent one', () => {
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
