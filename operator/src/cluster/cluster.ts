import type { InstanceResource, InstanceResourceStatus } from '@gwk/core/resources/manifest';
import type { PairingRequest, PairingView } from '@gwk/core/resources/pairing-request';

/**
 * The place where Instance resources and engines live. The controller reads its cache synchronously. The cluster
 * reports the key of anything that changed, without saying what changed.
 *
 * A key is `namespace/name` of a resource. A pod belongs to a key and to the uid that the resource had when the pod
 * was created: a resource that was deleted and created again under the same name is a different one.
 */
export interface Cluster {
  readonly pods: PodStore;
  /** Resolves when everything has been listed. Calls `onChange` with the keys of changed resources and pods. */
  start(onChange: (key: string) => void): Promise<void>;
  /** Stops every pod that cannot outlive this process, and waits for them. */
  endPods(): Promise<void>;
  stop(): Promise<void>;

  /** Keys of all resources, and of pods whose resource was deleted. */
  keys(): string[];
  resource(key: string): InstanceResource | undefined;

  /** Does nothing if the resource of that uid no longer exists. */
  setStatus(target: Target, status: InstanceResourceStatus): Promise<void>;
  /** Adds or removes the operator's finalizer. */
  setFinalizer(target: Target, isSet: boolean): Promise<void>;
  deleteResource(target: Target): Promise<void>;

  /** Publishes the state of a pairing to users allowed to see it. Null removes it. Idempotent. */
  publishPairing(target: Target, view: PairingView | null): Promise<void>;
  /** Removes a pairing request from the resource, unless another one has replaced it. */
  removePairingRequest(target: Target, request: PairingRequest): Promise<void>;

  /** Records an event of one instance. */
  recordEvent(target: Target, event: InstanceEvent): void;
  /** Readiness checks by name; null means healthy. */
  checks(): Record<string, string | null>;
  /** Number of resources that the operator ignores because they are invalid. */
  countInvalid(): number;
}

/** The pods of engines. */
export interface PodStore {
  find(key: string): Pod;
  /** Template of the engine of a resource; null if its profile is unknown. */
  templateFor(resource: InstanceResource): PodTemplate | null;
  /** A name that no engine ever had, so that a lease under it belongs to this engine only. */
  newName(target: Target, instanceId: string): string;
  /** Asks the cluster whether it would accept the pod once the present one is gone. @throws its refusal */
  check(plan: Omit<PodPlan, 'token'>): Promise<void>;
  /** @throws PodExists if the instance or the key still has a pod */
  create(plan: PodPlan): Promise<void>;
  /** Deletes a pod that cannot start because an operator failed before it had written its credentials. */
  verify(name: string): Promise<void>;
  /** Asks a pod to end. Forgets a pod that has ended, which frees its key and instance. Idempotent. */
  delete(name: string): Promise<void>;
  /**
   * Deletes a pod on an unreachable node. Call it only after its lease has ended and was taken from it: the pod may
   * still run, but the API refuses all its calls.
   */
  forceDelete(name: string): Promise<void>;
}

export interface Target {
  key: string;
  uid: string;
}

export interface PodPlan extends Target {
  name: string;
  instanceId: string;
  token: string;
  template: PodTemplate;
}

/** Settings of an engine that no row contains. A pod created from another template is replaced. */
export interface PodTemplate {
  profile: string;
  logLevel: string | null;
  /** Revision of the pod that the profile produces. A different one means an upgrade. */
  revision: string;
}

export interface PodIdentity extends Target {
  name: string;
  /** Name that users see. */
  shownAs: string;
  node: string | null;
  instanceId: string;
  version: string;
  template: PodTemplate;
  /** Milliseconds since 1970. */
  startedAt: number;
}

/** Reason why a pod does not start. */
export interface WaitingReason {
  reason: 'ImagePullFailed' | 'Unschedulable' | 'ContainerNotStarted';
  message: string;
}

/** `unknown`: its node is unreachable, so nobody knows whether the pod runs. */
export type LivePod = PodIdentity & {
  phase: 'starting' | 'running' | 'ending' | 'unknown';
  waiting: WaitingReason | null;
  /** When somebody asked it to end; null where it is certain to end once asked. */
  endingSince: number | null;
  /** This operator does not know whether the pod got its credentials. Only while it is starting. */
  unverified?: true;
};

export type EndedPod = PodIdentity & {
  phase: 'ended';
  endedAt: number;
  /** Somebody asked it to end, or its operator ended: not a failure. */
  requested: boolean;
  /** Description of the end, like `exit code 1: wrong settings`. */
  how: string;
};

export type Pod = { phase: 'absent' } | LivePod | EndedPod;

export interface InstanceEvent {
  type: 'Normal' | 'Warning';
  /** CamelCase. */
  reason: string;
  message: string;
}

export class PodExists extends Error {
  override name = 'PodExists';
  /** @param foreign true if the pod is not an engine, so it will not end by itself */
  constructor(
    readonly pod: string,
    readonly foreign = false,
  ) {
    super(foreign ? `pod ${pod} exists and is not an engine` : `pod ${pod} still exists`);
  }
}

export const formatKey = (metadata: { namespace: string; name: string }): string =>
  `${metadata.namespace}/${metadata.name}`;

/** Compares the fields that the owner of a resource chooses. The operator decides the revision. */
export function isSameChoice(a: PodTemplate, b: PodTemplate): boolean {
  return a.profile === b.profile && a.logLevel === b.logLevel;
}
