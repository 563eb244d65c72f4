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
const forget = [`report-ended ${POD}`, `force-delete-pod ${POD}`];

const NODES: Case[] = [
  [
    'an engine on a node that does not answer keeps its number while it renews its lease',
    { pod: lost },
    'NodeUnreachable',
    [],
    10_000,
  ],
  [
    'its pod is not forgotten a moment after the lease ended: clocks differ',
    { pod: lost, projection: accepted({ lease: leaseEnded(500) }, { observedAt: NOW }) },
    'NodeUnreachable',
    [],
  ],
  [
    'its pod is not forgotten by the clock alone: the API must have said so after the end',
    { pod: lost, projection: accepted({ lease: leaseEnded(5000) }, { observedAt: NOW - 6000 }) },
    'NodeUnreachable',
    [],
  ],
  [
    'once its lease has ended unrenewed, the lease is taken from it, and then its pod is forgotten',
    { pod: lost, projection: accepted({ lease: leaseEnded(5000) }, { observedAt: NOW }) },
    'NodeUnreachable',
    forget,
  ],
  [
    'a pod that never held the lease is forgotten too',
    { pod: lost, projection: accepted({ lease: free }) },
    'NodeUnreachable',
    forget,
  ],
  [
    'and so is one whose number somebody else holds by now',
    { pod: lost, projection: accepted({ lease: heldBy('another') }) },
    'NodeUnreachable',
    forget,
  ],
  [
    'nothing is forgotten while the API does not answer',
    { pod: lost, projection: { kind: 'unknown', error: 'down' } },
    'NodeUnreachable',
    [],
  ],
  [
    'a deletion begins with the row, so that the engine out there is refused from then on',
    deleting({ pod: lost }),
    'NodeUnreachable',
    ['remove-row'],
  ],
  [
    'a deletion waits for the lease of the engine out there',
    deleting({ pod: lost, removal: { requested: true, leaseEndsAt: NOW + 4000 } }),
    'NodeUnreachable',
    [],
    5000,
  ],
  [
    'a deletion forgets the pod once no lease is left',
    deleting({ pod: lost, removal: { requested: true, leaseEndsAt: null } }),
    'NodeUnreachable',
    forget,
  ],
];

const ending = (ms: number) => livePod('ending', { endingSince: NOW - ms });

const STUCK: Case[] = [
  ['an engine that ends has time to', deleting({ pod: ending(1000) }), 'EngineStopping', [], 299_000],
  [
    'an engine that does not end within five minutes loses its row',
    deleting({ pod: ending(minutes(5)) }),
    'Deleting',
    ['remove-row'],
  ],
  [
    'and when its lease is over its resource goes without it',
    deleting({ pod: ending(minutes(6)), removal: { requested: true, leaseEndsAt: null } }),
    'Deleting',
    ['remove-finalizer'],
  ],
  [
    'but not before',
    deleting({ pod: ending(minutes(6)), removal: { requested: true, leaseEndsAt: NOW + 9000 } }),
    'Deleting',
    [],
    10_000,
  ],
  ['a resource that stays has no other engine meanwhile', { pod: ending(minutes(60)) }, 'EngineStopping', []],
];

const former = template({ revision: 'r0' });

const UPGRADES: Case[] = [
  [
    'an engine of a former version that works is left alone until its turn comes',
    { pod: livePod('running', { template: former }) },
    'EngineRunning',
    [],
  ],
  [
    'and replaced when it comes',
    { pod: livePod('running', { template: former }), mayUpgrade: true },
    'EngineOutdated',
    [`delete-pod ${POD}`],
  ],
  [
    'one that does not work has nothing to lose and waits for no turn',
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
    'what the owner of the resource changed is done at once',
    { pod: livePod('running', { template: template({ logLevel: 'debug', revision: 'r0' }) }) },
    'EngineOutdated',
    [`delete-pod ${POD}`],
  ],
];

const TROUBLE: Case[] = [
  [
    'a pod whose image cannot be had says so, and is waited for',
    {
      pod: livePod('starting', { waiting: { reason: 'ImagePullFailed', message: 'no such image' } }),
      projection: accepted({ lease: free }),
    },
    'ImagePullFailed',
    [],
  ],
  [
    'a pod that no node takes says so',
    {
      pod: livePod('starting', { waiting: { reason: 'Unschedulable', message: '0/3 nodes' } }),
      projection: accepted({ lease: free }),
    },
    'Unschedulable',
    [],
  ],
  [
    'an instance that names no profile of the configuration gets no engine',
    { pod: absent, template: null },
    'ProfileUnknown',
    [],
  ],
  ['and keeps the one it has', { template: null }, 'EngineRunning', []],
];

describe.each([
  ['a node that does not answer', NODES],
  ['an engine that does not end', STUCK],
  ['an upgrade', UPGRADES],
  ['waiting at the start', TROUBLE],
])('%s', (_, cases) => {
  test.each(cases)('%s', (...row) => expect(decided(row)).toEqual(wanted(row)));
});

test('nothing but the end of its lease makes a pod on a lost node be forgotten', () => {
  for (const special of [{}, { suspended: true }, { logLevel: 'debug' as const }]) {
    const world = observed({ pod: lost, resource: resource(special) });
    expect(decide(world).actions).toEqual([]);
  }
});
