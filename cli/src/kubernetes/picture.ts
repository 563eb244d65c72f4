import type { InstanceResource } from '@gwk/core/resources/manifest';

/** A value that the cluster did not show, with the reason. */
export interface Unknown {
  unknown: string;
}
export type Known<T> = T | Unknown;

export const isUnknown = (value: unknown): value is Unknown =>
  typeof value === 'object' && value !== null && 'unknown' in value;

/** An engine's pod. */
export interface EnginePod {
  name: string;
  phase: string;
  image: string;
  node: string | null;
  /** When its container started; null while it waits. */
  startedAt: string | null;
  /** Why its container waits, in the words of the kubelet. */
  waiting: string | null;
  deleting: boolean;
}

export interface ClusterEvent {
  at: string;
  type: string;
  reason: string;
  message: string;
  /** How often it happened. */
  count: number;
}

/** From the metrics of the engine. */
export interface EngineMetrics {
  /** Time until the engine closes its socket unless it renews the lease. 0: it has no lease. */
  leaseSeconds: number;
  /** Claimed messages without a result. */
  claimed: number;
  conversations: number;
}

/** The release that serves the Instance. */
export interface Gateway {
  namespace: string;
  /** Name of the Deployment of the API. */
  api: string | null;
  version: string | null;
}

/** Everything that the cluster says about one Instance. */
export interface Picture {
  now: number;
  instance: InstanceResource;
  /** Null: it has no pod. */
  pod: Known<EnginePod | null>;
  metrics: Known<EngineMetrics>;
  /** The newest first. */
  events: Known<ClusterEvent[]>;
  gateway: Known<Gateway>;
}
