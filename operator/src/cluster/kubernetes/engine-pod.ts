import type { V1ContainerState, V1ContainerStateTerminated, V1Pod } from '@kubernetes/client-node';
import type { EndedPod, LivePod, Pod, PodTemplate, WaitingReason } from '../cluster.js';
import { ANNOTATIONS, COMPONENT, LABELS, buildPodName } from './names.js';
import type { KubeObject } from './informer.js';

/**
 * What is kept of an engine's pod: ten thousand whole ones would be some hundred megabytes. Times are as the API
 * writes them.
 */
export interface EnginePod {
  /** Of the object. */
  podUid: string;
  namespace: string;
  podName: string;
  key: string;
  uid: string;
  engine: string;
  instanceId: string;
  version: string;
  template: PodTemplate;
  node: string | null;
  startedAt: number;
  /** When it was asked to end. */
  endingSince: number | null;
  state: 'starting' | 'running' | 'ended';
  trouble: WaitingReason | null;
  end: Pick<EndedPod, 'endedAt' | 'asked' | 'how'> | null;
}

/** Dates are text in what comes over the wire. */
export type RawPod = KubeObject & Pick<V1Pod, 'spec' | 'status'> & { metadata: NonNullable<V1Pod['metadata']> };

/** Null: it is not one of ours, whatever its labels say. */
export function readPod(raw: RawPod, publicToUuid: (id: string) => string | null): EnginePod | null {
  const identity = identityOf(raw, publicToUuid);
  if (!identity) return null;
  const state = stateOf(raw);
  const end = endOf(raw, state);
  return {
    ...identity,
    node: raw.spec?.nodeName ?? null,
    startedAt: timeOf(state?.running?.startedAt) ?? timeOf(raw.metadata.creationTimestamp) ?? 0,
    endingSince: endingSince(raw),
    state: end ? 'ended' : state?.running ? 'running' : 'starting',
    trouble: end ? null : troubleOf(raw, state),
    end,
  };
}

function stateOf({ status }: RawPod): V1ContainerState | undefined {
  return status?.containerStatuses?.find(({ name }) => name === COMPONENT)?.state;
}

/** The API server writes down when the grace is over. */
function endingSince({ metadata }: RawPod): number | null {
  const over = timeOf(metadata.deletionTimestamp);
  return over === null ? null : over - 1000 * (metadata.deletionGracePeriodSeconds ?? 0);
}

type Identity = Omit<EnginePod, 'node' | 'startedAt' | 'endingSince' | 'state' | 'trouble' | 'end'>;

function identityOf({ metadata }: RawPod, publicToUuid: (id: string) => string | null): Identity | null {
  const { labels = {}, annotations = {}, namespace = '', name: podName, uid: podUid } = metadata;
  const instanceId = publicToUuid(labels[LABELS.instanceId] ?? '');
  const resource = labels[LABELS.instance];
  const engine = annotations[ANNOTATIONS.engine];
  const template = parseTemplate(annotations[ANNOTATIONS.template]);
  if (instanceId === null || resource === undefined || engine === undefined || !template) return null;
  // A copy of an engine's pod (of a backup, of a debugger) carries its labels. The name is the mutex: what has another
  // is none of ours, and must not hide the one that is.
  if (podName !== buildPodName(resource)) return null;
  const uid = annotations[ANNOTATIONS.uid] ?? '';
  const version = labels[LABELS.version] ?? 'unknown';
  return {
    podUid,
    namespace,
    podName,
    key: `${namespace}/${resource}`,
    uid,
    engine,
    instanceId,
    version,
    template,
  };
}

/** Nobody can say whether what runs on a lost node still runs; what has ended there has ended. */
export function derivePod(pod: EnginePod, nodeIsLost: boolean): Pod {
  const { key, uid, engine, instanceId, version, template, node, startedAt, end } = pod;
  const identity = {
    key,
    uid,
    name: engine,
    shownAs: pod.podName,
    node,
    instanceId,
    version,
    template,
    startedAt,
  };
  if (end) return { ...identity, phase: 'ended', ...end };
  const live: Omit<LivePod, 'phase'> = { ...identity, trouble: pod.trouble, endingSince: pod.endingSince };
  if (nodeIsLost) return { ...live, phase: 'unknown' };
  if (pod.endingSince !== null) return { ...live, phase: 'ending' };
  return { ...live, phase: pod.state === 'running' ? 'running' : 'starting' };
}

function parseTemplate(text: string | undefined): PodTemplate | null {
  try {
    const { profile, logLevel, revision } = JSON.parse(text ?? '') as PodTemplate;
    return { profile, logLevel, revision };
  } catch {
    return null;
  }
}

/** Reasons by which a node ends a pod that did nothing wrong. */
const ENDED_BY_NODE = new Set(['Evicted', 'Preempting', 'NodeShutdown', 'Terminated', 'NodeAffinity']);

/**
 * The word of the kubelet that the container has ended, or that it never began. A phase alone is not believed: the
 * control plane calls pods of vanished nodes `Failed` without knowing.
 */
function endOf(raw: RawPod, state: V1ContainerState | undefined): EnginePod['end'] {
  const terminated = state?.terminated;
  if (!terminated && (state || !neverBegan(raw))) return null;
  const asked = raw.metadata.deletionTimestamp !== undefined || endedByOthers(raw);
  return { endedAt: timeOf(terminated?.finishedAt) ?? Date.now(), asked, how: howOf(raw, state) };
}

function neverBegan({ spec, status }: RawPod): boolean {
  const { phase, reason } = status ?? {};
  if (phase !== 'Failed' && phase !== 'Succeeded') return false;
  return spec?.nodeName === undefined || ENDED_BY_NODE.has(reason ?? '') || refusedByNode(reason);
}

function endedByOthers({ status }: RawPod): boolean {
  if (ENDED_BY_NODE.has(status?.reason ?? '')) return true;
  const conditions = status?.conditions ?? [];
  return conditions.some(({ type, status: is }) => type === 'DisruptionTarget' && is === 'True');
}

/** The kubelet admits no pod for which its node has no room (any more): OutOfcpu, OutOfpods, UnexpectedAdmissionError. */
const refusedByNode = (reason: string | undefined): boolean =>
  reason !== undefined && /^(OutOf|UnexpectedAdmissionError)/.test(reason);

const COMPLAINT_LENGTH = 300;

function howOf({ status }: RawPod, state: V1ContainerState | undefined): string {
  const terminated = state?.terminated;
  if (!terminated) return [status?.reason, status?.message].filter(Boolean).join(': ') || 'it never began';
  const how = endInWords(terminated);
  const complaint = terminated.exitCode === 0 ? null : complaintIn(terminated.message ?? '');
  return complaint === null ? how : `${how}: ${complaint}`;
}

const PLAIN = new Set([undefined, 'Error', 'Completed']);

function endInWords({ exitCode, reason, signal }: V1ContainerStateTerminated): string {
  const code = signal ? `ended by signal ${signal}` : `exit code ${exitCode}`;
  return PLAIN.has(reason) ? code : `${reason} (${code})`;
}

/** The last line of its log; of a JSON line the message, since the rest is for machines. */
function complaintIn(log: string): string | null {
  const line = log.trimEnd().split('\n').at(-1) ?? '';
  if (line === '') return null;
  const text = messageIn(line) ?? line;
  return text.length > COMPLAINT_LENGTH ? `${text.slice(0, COMPLAINT_LENGTH)}...` : text;
}

function messageIn(line: string): string | null {
  try {
    const { msg } = JSON.parse(line) as { msg?: unknown };
    return typeof msg === 'string' ? msg : null;
  } catch {
    return null;
  }
}

const IMAGE_TROUBLE = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ErrImageInspect',
  'RegistryUnavailable',
]);
const QUIET = new Set(['ContainerCreating', 'PodInitializing']);

function troubleOf({ status }: RawPod, state: V1ContainerState | undefined): WaitingReason | null {
  const waiting = state?.waiting;
  if (waiting?.reason !== undefined && !QUIET.has(waiting.reason)) {
    const reason = IMAGE_TROUBLE.has(waiting.reason) ? 'ImagePullFailed' : 'ContainerNotStarted';
    return { reason, message: [waiting.reason, waiting.message].filter(Boolean).join(': ') };
  }
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status !== 'False') return null;
  return { reason: 'Unschedulable', message: scheduled.message ?? 'No node takes the pod' };
}

function timeOf(time: Date | string | undefined): number | null {
  return time === undefined ? null : new Date(time).getTime();
}
