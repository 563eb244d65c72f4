import type { InstanceFacts } from '@gwk/core/protocol/operator';
import { FINALIZER, MANIFEST_API_VERSION, type InstanceResource } from '@gwk/core/resources/manifest';
import type { EndedPod, LivePod, PodTemplate } from '@gwk/operator/cluster/cluster';
import { readEngineChoice } from '@gwk/operator/controller/decide';
import { NO_HISTORY } from '@gwk/operator/controller/history';
import type { KnownInstance, Observed, ProjectionResult } from '@gwk/operator/controller/observed';

/** Builders for test cases: each returns the default object with the given overrides. */
export const NOW = Date.parse('2026-03-01T12:00:00.000Z');
export const UID = '7e0c1a8e-0000-4000-8000-000000000001';
export const ID = '0195a000-0000-7000-8000-000000000001';
export const POD = 'ins-1-first';
export const minutes = (n: number): number => n * 60_000;
export const at = (ms: number): string => new Date(ms).toISOString();

type Metadata = InstanceResource['metadata'];

export function resource(
  spec: Partial<InstanceResource['spec']> = {},
  metadata: Partial<Metadata> = {},
): InstanceResource {
  return {
    apiVersion: MANIFEST_API_VERSION,
    kind: 'Instance',
    metadata: {
      name: 'shop',
      namespace: 'default',
      uid: UID,
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: at(NOW - minutes(60)),
      finalizers: [FINALIZER],
      ...metadata,
    },
    spec: {
      account: 'main',
      kind: 'web',
      interactiveMode: 'native+text',
      onOtherAccount: 'refuse',
      suspended: false,
      ...spec,
    },
  };
}

export function facts(special: Partial<InstanceFacts> = {}): InstanceFacts {
  return {
    id: ID,
    digest: '1',
    state: 'connected',
    state_reason: null,
    state_changed_at: at(NOW - minutes(30)),
    first_paired_at: at(NOW - minutes(50)),
    banned_until: null,
    pairing: false,
    lease: heldBy(POD),
    ...special,
  };
}

export const heldBy = (pod: string): InstanceFacts['lease'] => ({
  pod,
  epoch: 4,
  expires_at: at(NOW + 40_000),
});
export const free: InstanceFacts['lease'] = { pod: null, epoch: 4, expires_at: null };

export function known(
  special: Partial<InstanceFacts> = {},
  rest: Partial<KnownInstance> = {},
): KnownInstance {
  return { facts: facts(special), observedAt: NOW - 500, pairingSeenAt: null, leaseFreeSince: null, ...rest };
}

export function accepted(
  special: Partial<InstanceFacts> = {},
  rest: Partial<KnownInstance> = {},
): ProjectionResult {
  return { kind: 'accepted', generation: 1, known: known(special, rest) };
}

export function template(special: Partial<PodTemplate> = {}): PodTemplate {
  return { profile: 'default', logLevel: null, revision: 'r1', ...special };
}

const identity = {
  name: POD,
  shownAs: POD,
  node: null,
  key: 'default/shop',
  uid: UID,
  instanceId: ID,
  version: '0.1.0',
  template: template(),
  startedAt: NOW - minutes(20),
};

export function livePod(phase: LivePod['phase'], special: Partial<LivePod> = {}): LivePod {
  return { ...identity, phase, waiting: null, endingSince: null, ...special };
}

export function endedPod(special: Partial<EndedPod> = {}): EndedPod {
  return {
    ...identity,
    phase: 'ended',
    endedAt: NOW - 100,
    requested: false,
    how: 'exit code 1',
    ...special,
  };
}

/** A paired and connected web instance with its engine. */
export function observed(special: Partial<Observed> = {}): Observed {
  const shown = special.resource === undefined ? resource() : special.resource;
  return {
    now: NOW,
    resource: shown,
    template: shown && { ...readEngineChoice(shown), revision: 'r1' },
    turn: null,
    refusal: null,
    pod: livePod('running'),
    projection: accepted(),
    outage: null,
    history: NO_HISTORY,
    removal: { requested: false },
    unpairedEngines: 0,
    limits: { idleMs: minutes(10), maxUnpairedEngines: 3, leaseTimeoutMs: minutes(1), stuckMs: minutes(5) },
    ...special,
  };
}
