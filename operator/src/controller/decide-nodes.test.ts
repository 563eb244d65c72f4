import {
  accepted,
  at,
  free,
  heldBy,
  livePod,
  minutes,
  NOW,
  observed,
  POD,
  resource,
  template,
} from '@gwk/test/support/operator/build';
import { absent, decided, deleting, wanted, type Case } from '@gwk/test/support/operator/decision';
import { decide } from './decide.js';

const lost = livePod('unknown');
const leaseEnded = (ms: number) => ({ pod: POD, epoch: 4, expires_at: at(NOW - ms) });
const fenceAndDelete = [`report-ended ${POD}`, `force-delete-pod ${POD}`];

const NODES: Case[] = [
  [
    'keeps an engine on an unreachable node while it renews its lease',
    { pod: lost },
    'NodeUnreachable',
    [],
    10_000,
  ],
  [
    'keeps its pod within the margin after the end of the lease',
    { pod: lost, projection: accepted({ lease: leaseEnded(500) }, { observedAt: NOW }) },
    'NodeUnreachable',
    [],
  ],
  [
    'keeps its pod until the API has confirmed the end of the lease',
    { pod: lost, projection: accepted({ lease: leaseEnded(5000) }, { observedAt: NOW - 6000 }) },
    'NodeUnreachable',
    [],
  ],
  [
    'takes the expired lease and then deletes the pod',
    { pod: lost, projection: accepted({ lease: leaseEnded(5000) }, { observedAt: NOW }) },
    'NodeUnreachable',
    fenceAndDelete,
  ],
  [
    'deletes a pod that never held the lease',
    { pod: lost, projection: accepted({ lease: free }) },
    'NodeUnreachable',
    fenceAndDelete,
  ],
  [
    'deletes a pod if another engine holds the lease',
    { pod: lost, projection: accepted({ lease: heldBy('another') }) },
    'NodeUnreachable',
    fenceAndDelete,
  ],
  [
    'deletes nothing while the API does not answer',
    { pod: lost, projection: { kind: 'unknown', error: 'down' } },
    'NodeUnreachable',
    [],
  ],
  [
    'first removes the row on deletion, so that the API refuses the engine',
    deleting({ pod: lost }),
    'NodeUnreachable',
    ['remove-row'],
  ],
  [
    'waits for the lease of the unreachable engine on deletion',
    deleting({ pod: lost, removal: { requested: true, leaseEndsAt: NOW + 4000 } }),
    'NodeUnreachable',
    [],
    5000,
  ],
  [
    'deletes the pod on deletion once no lease is left',
    deleting({ pod: lost, removal: { requested: true, leaseEndsAt: null } }),
    'NodeUnreachable',
    fenceAndDelete,
  ],
];

const ending = (ms: number) => livePod('ending', { endingSince: NOW - ms });

const STUCK: Case[] = [
  ['waits for a stopping engine', deleting({ pod: ending(1000) }), 'EngineStopping', [], 299_000],
  [
    'removes the row of an engine that does not end within 5 minutes',
    deleting({ pod: ending(minutes(5)) }),
    'Deleting',
    ['remove-row'],
  ],
  [
    'removes the finalizer once its lease has ended',
    deleting({ pod: ending(minutes(6)), removal: { requested: true, leaseEndsAt: null } }),
    'Deleting',
    ['remove-finalizer'],
  ],
  [
    'keeps the finalizer until its lease has ended',
    deleting({ pod: ending(minutes(6)), removal: { requested: true, leaseEndsAt: NOW + 9000 } }),
    'Deleting',
    [],
    10_000,
  ],
  [
    'starts no other engine for a resource that is not deleted',
    { pod: ending(minutes(60)) },
    'EngineStopping',
    [],
  ],
];

const former = template({ revision: 'r0' });

const UPGRADES: Case[] = [
  [
    'keeps a working engine of an older version until its turn',
    { pod: livePod('running', { template: former }) },
    'EngineRunning',
    [],
  ],
  [
    'replaces it when its turn comes',
    { pod: livePod('running', { template: former }), turn: { granted: true } },
    'EngineOutdated',
    ['try-pod', `delete-pod ${POD}`],
  ],
  [
    'keeps an engine until its turn although its lease has lapsed',
    {
      pod: livePod('running', { template: former }),
      projection: accepted({ lease: { ...heldBy(POD), expires_at: at(NOW - minutes(2)) } }),
    },
    'EngineStarting',
    [],
  ],
  [
    'replaces an engine that never had its lease without a turn',
    { pod: livePod('running', { template: former }), projection: accepted({ lease: free }) },
    'EngineOutdated',
    [`delete-pod ${POD}`],
  ],
  [
    'replaces a broken engine without a turn',
    {
      pod: livePod('starting', {
        template: former,
        waiting: { reason: 'ImagePullFailed', message: 'no such image' },
      }),
      projection: accepted({ lease: free }),
    },
    'EngineOutdated',
    [`delete-pod ${POD}`],
  ],
  [
    'applies a change by the owner at once',
    { pod: livePod('running', { template: template({ logLevel: 'debug', revision: 'r0' }) }) },
    'EngineOutdated',
    [`delete-pod ${POD}`],
  ],
];

const WAITING: Case[] = [
  [
    'reports an image that cannot be pulled, and waits',
    {
      pod: livePod('starting', { waiting: { reason: 'ImagePullFailed', message: 'no such image' } }),
      projection: accepted({ lease: free }),
    },
    'ImagePullFailed',
    [],
  ],
  [
    'reports a pod that no node accepts',
    {
      pod: livePod('starting', { waiting: { reason: 'Unschedulable', message: '0/3 nodes' } }),
      projection: accepted({ lease: free }),
    },
    'Unschedulable',
    [],
  ],
  ['starts no engine with an unknown profile', { pod: absent, template: null }, 'ProfileUnknown', []],
  ['keeps a running engine with an unknown profile', { template: null }, 'EngineRunning', []],
];

describe.each([
  ['decide for an unreachable node', NODES],
  ['decide for an engine that does not end', STUCK],
  ['decide during an upgrade', UPGRADES],
  ['decide for a pod that does not start', WAITING],
])('%s', (_, cases) => {
  test.each(cases)('%s', (...row) => expect(decided(row)).toEqual(wanted(row)));
});

test('deletes a pod on a lost node only after the end of its lease', () => {
  for (const special of [{}, { suspended: true }, { logLevel: 'debug' as const }]) {
    const world = observed({ pod: lost, resource: resource(special) });
    expect(decide(world).actions).toEqual([]);
  }
});
