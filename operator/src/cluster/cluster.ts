import type { InstanceResource, InstanceResourceStatus } from '@gwk/core/resources/manifest';
import type { PairingView } from '@gwk/core/resources/pairing-request';

/**
 * Where Instance resources and engines live. The controller reads from what the cluster has cached (synchronously)
 * and is told the key of whatever changed; it never asks what the change was.
 *
 * A key is `namespace/name` of a resource. A pod belongs to a key, and to the uid that the resource had when the pod
 * was made: a resource deleted and made again under its old name is another one.
 */
export interface Cluster {
  /** Resolves when everything has been listed. `changed` is told keys of resources and of pods. */
  start(changed: (key: string) => void): Promise<void>;
  /** Ends every pod that cannot outlive this program, and waits until they are gone. */
  endPods(): Promise<void>;
  stop(): Promise<void>;

  /** Keys of all resources, and of pods whose resource is gone. */
  keys(): string[];
  resource(key: string): InstanceResource | undefined;
  pod(key: string): Pod;

  /** Does nothing where the resource of that uid is gone. */
  setStatus(target: Target, status: InstanceResourceStatus): Promise<void>;
  setFinalizers(target: Target, finalizers: string[]): Promise<void>;
  deleteResource(target: Target): Promise<void>;

  /** What the engine of a resource is to be made from; null where its profile is not known here. */
  templateFor(resource: InstanceResource): PodTemplate | null;
  /** A name that no engine ever had: whoever holds a lease under it is that engine and no other. */
  newPodName(target: Target, instanceId: string): string;
  /** @throws PodExists where the instance, or the key, has a pod that is not gone */
  createPod(plan: PodPlan): Promise<void>;
  /** Asks a pod to end. One that has ended is forgotten, and its key and instance are free. Repeatable. */
  deletePod(name: string): Promise<void>;
  /**
   * Forgets a pod whose node does not answer. Only for one whose lease has ended unrenewed and was taken from it: it
   * may still run, and can do nothing any more.
   */
  forceDeletePod(name: string): Promise<void>;

  /** Puts up what a pairing shows, for those alone who may see it; null takes it down. Repeatable. */
  publishPairing(target: Target, view: PairingView | null): Promise<void>;

  /** A line of the story of one instance. */
  tell(target: Target, line: InstanceEvent): void;
  /** Named checks of readiness: what is wrong, or null. */
  checks(): Record<string, string | null>;
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

/** What an engine is started with and no row carries: a pod that was made from another template is replaced. */
export interface PodTemplate {
  profile: string;
  logLevel: string | null;
  /** Of what the cluster's configuration makes of the profile; another one means an upgrade. */
  revision: string;
}

interface PodIdentity extends Target {
  name: string;
  /** What people find it under. */
  shownAs: string;
  node: string | null;
  instanceId: string;
  version: string;
  template: PodTemplate;
  /** Milliseconds since 1970. */
  startedAt: number;
}

/** Why a pod does not come to run. */
export interface WaitingReason {
  reason: 'ImagePullFailed' | 'Unschedulable' | 'ContainerNotStarted';
  message: string;
}

/** `unknown`: its node does not answer, and nobody can say whether it runs. */
export type LivePod = PodIdentity & {
  phase: 'starting' | 'running' | 'ending' | 'unknown';
  trouble: WaitingReason | null;
  /** When it was asked to end; null where asking is sure to end it. */
  endingSince: number | null;
};

export type EndedPod = PodIdentity & {
  phase: 'ended';
  endedAt: number;
  /** It was told to end, or its operator went: not a failure. */
  asked: boolean;
  /** `exit code 1: wrong settings`, in words. */
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
  /** @param foreign it is nobody's engine: it will not go by itself */
  constructor(
    readonly pod: string,
    readonly foreign = false,
  ) {
    super(foreign ? `pod ${pod} is there, and is not an engine` : `pod ${pod} is still there`);
  }
}

export const formatKey = (metadata: { namespace: string; name: string }): string =>
  `${metadata.namespace}/${metadata.name}`;

/** What the owner of a resource chose; the revision is the operator's. */
export function isSameChoice(a: PodTemplate, b: PodTemplate): boolean {
  return a.profile === b.profile && a.logLevel === b.logLevel;
}
