import type { InstanceFacts, Projection } from '@gwk/core/protocol/operator';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import type { Pod, PodTemplate } from '../cluster/cluster.js';
import type { History } from './history.js';

/** Input of a decision about one instance, gathered once before deciding. */
export interface Observed {
  /** Milliseconds since 1970. */
  now: number;
  /** Null: the resource does not exist. */
  resource: InstanceResource | null;
  pod: Pod;
  /** Template of its engine; null: its profile is unknown. */
  template: PodTemplate | null;
  /** Turn in the rollout; null: no working engine is outdated. */
  turn: Turn | null;
  /** Null: the cluster did not refuse the last pod. */
  refusal: Refusal | null;
  projection: ProjectionResult;
  /** The API has not answered for so long that its last answer says nothing about now; null: it answers. */
  outage: Outage | null;
  history: History;
  removal: Removal;
  /** Engines of other unpaired instances without an open pairing. */
  unpairedEngines: number;
  limits: Limits;
}

/** An outage of the API, which cannot answer without its database either. */
export interface Outage {
  /** Last answer; for an operator that never got one, its start. */
  since: number;
}

/** Whether a working engine may be replaced now, or why not. */
export type Turn = { granted: true } | { granted: false; reason: HoldReason; message: string };

export type HoldReason = 'UpgradePaused' | 'UpgradeRefused' | 'WaitingForCanary' | 'WaitingForTurn';

/** The cluster refused a pod: a quota, a policy, a signature. */
export interface Refusal {
  message: string;
  /** Consecutive refusals. */
  count: number;
  /** When the next pod may be tried. */
  retryAt: number;
}

/** The API's answer about the resource. */
export type ProjectionResult =
  /** Not asked yet, or not answered: nobody knows whether the API accepts it. */
  | { kind: 'unknown'; error: string | null }
  /** `known`: set when the API has a row for an earlier generation. */
  | {
      kind: 'rejected';
      generation: number;
      reason: RejectionReason;
      message: string;
      known: KnownInstance | null;
    }
  | { kind: 'accepted'; generation: number; known: KnownInstance };

export type RejectionReason = Extract<Projection, { accepted: false }>['reason'];

export interface KnownInstance {
  facts: InstanceFacts;
  /** When the API reported the facts. */
  observedAt: number;
  /** When a pairing session was last seen open. */
  pairingSeenAt: number | null;
  /** Since when nobody has held the lease, without a gap in the observations. */
  leaseFreeSince: number | null;
}

/** Progress of removing the row of a deleted resource. */
export type Removal = { requested: false } | { requested: true; leaseEndsAt: number | null };

export interface Limits {
  /** Time after which an unpaired instance loses its engine. */
  idleMs: number;
  /** Engines of unpaired instances that run at once, without those whose pairing is open. */
  maxUnpairedEngines: number;
  /** Time an engine may run while nobody holds the lease. */
  leaseTimeoutMs: number;
  /** Time an engine that does not end may block the deletion of its resource. */
  stuckMs: number;
}

/** Whether the engine in this pod holds the lease, as of the last observation. */
export function holdsLease(pod: Pod, projection: ProjectionResult): boolean {
  const known = getKnownInstance(projection);
  if (pod.phase === 'absent' || pod.phase === 'ended' || !known) return false;
  return known.facts.lease.pod === pod.name && leaseInForce(known);
}

/**
 * Whether the engine in this pod works, or worked until the API or its database became unavailable. It takes its lease again when they
 * come back.
 */
export function isWorking(pod: Pod, projection: ProjectionResult): boolean {
  if (holdsLease(pod, projection)) return true;
  return pod.phase === 'running' && getKnownInstance(projection)?.facts.lease.pod === pod.name;
}

export function leaseInForce({ facts, observedAt }: KnownInstance): boolean {
  const { pod, expires_at: expires } = facts.lease;
  return pod !== null && expires !== null && Date.parse(expires) > observedAt;
}

export function getKnownInstance(projection: ProjectionResult): KnownInstance | null {
  return projection.kind === 'unknown' ? null : projection.known;
}
