import type { InstanceFacts, Projection } from '@gwk/core/protocol/operator';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import type { Pod, PodTemplate } from '../cluster/cluster.js';
import type { History } from './history.js';

/** Everything that a decision about one instance may look at, gathered once, before deciding. */
export interface Observed {
  /** Milliseconds since 1970. */
  now: number;
  /** Null: there is no such resource (any more). */
  resource: InstanceResource | null;
  pod: Pod;
  /** What its engine is to be made from; null: the profile it names is not known. */
  template: PodTemplate | null;
  /** Whether an engine that works may be replaced now by one of the present revision. */
  turn: boolean;
  projection: ProjectionResult;
  history: History;
  removal: Removal;
  limits: Limits;
}

/** What the API said of the resource. */
export type ProjectionResult =
  /** Not asked yet, or no answer; whether the resource is accepted is unknown. */
  | { kind: 'unknown'; error: string | null }
  /** `known`: an earlier generation has a row all the same. */
  | { kind: 'rejected'; generation: number; reason: RejectionReason; message: string; known: KnownInstance | null }
  | { kind: 'accepted'; generation: number; known: KnownInstance };

export type RejectionReason = Extract<Projection, { accepted: false }>['reason'];

export interface KnownInstance {
  facts: InstanceFacts;
  /** When the API said so. */
  observedAt: number;
  /** When a pairing session was last seen open. */
  pairingSeenAt: number | null;
  /** Since when, without a gap in observation, nobody has held the lease. */
  leaseFreeSince: number | null;
}

/** How far the removal of the row of a deleted resource has come. */
export type Removal = { asked: false } | { asked: true; leaseEndsAt: number | null };

export interface Limits {
  /** How long an unpaired instance keeps its engine. */
  idleMs: number;
  /** How long an engine may run without holding its lease while nobody else holds it. */
  silentMs: number;
  /** How long an engine that does not end may keep its resource from being deleted. */
  stuckMs: number;
}

/** Whether the engine in this pod holds the lease, as of the last observation. */
export function holdsLease(pod: Pod, projection: ProjectionResult): boolean {
  const known = getKnownInstance(projection);
  if (pod.phase === 'absent' || pod.phase === 'ended' || !known) return false;
  return known.facts.lease.pod === pod.name && leaseInForce(known);
}

export function leaseInForce({ facts, observedAt }: KnownInstance): boolean {
  const { pod, expires_at: expires } = facts.lease;
  return pod !== null && expires !== null && Date.parse(expires) > observedAt;
}

export function getKnownInstance(projection: ProjectionResult): KnownInstance | null {
  return projection.kind === 'unknown' ? null : projection.known;
}
