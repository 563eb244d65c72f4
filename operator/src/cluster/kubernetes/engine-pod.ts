import type { V1ContainerState, V1ContainerStateTerminated, V1Node, V1Pod } from '@kubernetes/client-node';
import { fromPublicId } from '@gwk/core/ids/ids';
import type { EndedPod, Pod, PodIdentity, PodTemplate, WaitingReason } from '../cluster.js';
import { ANNOTATIONS, COMPONENT, LABELS, buildPodName } from '@gwk/core/kubernetes/names';
import type { KubeObject } from './informer.js';

/**
 * The cached part of an engine's pod: 10,000 whole pods would take hundreds of MB. Times are as the API writes them.
 */
export interface EnginePod extends PodIdentity {
  /** Uid of the pod object. */
  podUid: string;
  /** When somebody asked it to end. */
  endingSince: number | null;
  hasStarted: boolean;
  waiting: WaitingReason | null;
  end: Pick<EndedPod, 'endedAt' | 'requested' | 'how'> | null;
}

/** Dates are strings in raw JSON. */
export type RawPod = KubeObject &
  Pick<V1Pod, 'spec' | 'status'> & { metadata: NonNullable<V1Pod['metadata']> };

/** Null: not an engine's pod, whatever its labels say. */
export function readPod(raw: RawPod): EnginePod | null {
  const { labels = {}, annotations = {}, namespace = '', name: shownAs, uid: podUid } = raw.metadata;
  const instanceId = fromPublicId('instance', labels[LABELS.instanceId] ?? '');
  const resource = labels[LABELS.instance];
  const name = annotations[ANNOTATIONS.engine];
  const template = parseTemplate(annotations[ANNOTATIONS.template]);
  if (instanceId === null || resource === undefined || name === undefined || !template) return null;
  // A copy of an engine's pod (from a backup or a debugger) carries the same labels. The pod name is the mutex, so a
  // pod with another name is not ours and must not hide the real one.
  if (shownAs !== buildPodName(resource)) return null;
  const identity = { key: `${namespace}/${resource}`, name, shownAs, instanceId, template };
  const uid = annotations[ANNOTATIONS.uid] ?? '';
  const version = labels[LABELS.version] ?? 'unknown';
  return { ...identity, podUid, uid, version, ...readProgress(raw) };
}

function readProgress(raw: RawPod) {
  const state = findContainerState(raw);
  const end = readEnd(raw, state);
  return {
    node: raw.spec?.nodeName ?? null,
    startedAt: parseTime(state?.running?.startedAt) ?? parseTime(raw.metadata.creationTimestamp) ?? 0,
    endingSince: endingSince(raw),
    hasStarted: state?.running !== undefined,
    waiting: end ? null : readWaitingReason(raw, state),
    end,
  };
}

function findContainerState({ status }: RawPod): V1ContainerState | undefined {
  return status?.containerStatuses?.find(({ name }) => name === COMPONENT)?.state;
}

/** The API server stores the end of the grace period. */
function endingSince({ metadata }: RawPod): number | null {
  const over = parseTime(metadata.deletionTimestamp);
  return over === null ? null : over - 1000 * (metadata.deletionGracePeriodSeconds ?? 0);
}

/** A pod on a lost node may or may not run. A pod that ended there has ended. */
export function derivePod(
  { podUid: _, endingSince, hasStarted, waiting, end, ...identity }: EnginePod,
  nodeIsLost: boolean,
): Pod {
  if (end) return { ...identity, phase: 'ended', ...end };
  const live = { ...identity, waiting, endingSince };
  if (nodeIsLost) return { ...live, phase: 'unknown' };
  if (endingSince !== null) return { ...live, phase: 'ending' };
  return { ...live, phase: hasStarted ? 'running' : 'starting' };
}

function parseTemplate(text: string | undefined): PodTemplate | null {
  try {
    const { profile, logLevel, revision } = JSON.parse(text ?? '') as PodTemplate;
    return { profile, logLevel, revision };
  } catch {
    return null;
  }
}

/** Reasons with which a node ends a pod through no fault of the pod. */
const ENDED_BY_NODE = new Set(['Evicted', 'Preempting', 'NodeShutdown', 'Terminated', 'NodeAffinity']);

/**
 * Only the kubelet's report counts: the container terminated, or never began. The pod phase alone does not, because
 * the control plane sets `Failed` for pods of vanished nodes without knowing.
 */
function readEnd(raw: RawPod, state: V1ContainerState | undefined): EnginePod['end'] {
  const terminated = state?.terminated;
  if (!terminated && (state || !neverStarted(raw))) return null;
  const requested = raw.metadata.deletionTimestamp !== undefined || endedByOthers(raw);
  return {
    endedAt: parseTime(terminated?.finishedAt) ?? Date.now(),
    requested,
    how: describeExit(raw, state),
  };
}

function neverStarted({ spec, status }: RawPod): boolean {
  const { phase, reason } = status ?? {};
  if (phase !== 'Failed' && phase !== 'Succeeded') return false;
  return spec?.nodeName === undefined || ENDED_BY_NODE.has(reason ?? '') || refusedByNode(reason);
}

function endedByOthers({ status }: RawPod): boolean {
  if (ENDED_BY_NODE.has(status?.reason ?? '')) return true;
  const conditions = status?.conditions ?? [];
  return conditions.some(({ type, status: is }) => type === 'DisruptionTarget' && is === 'True');
}

/** The kubelet rejects a pod that its node has no resources for: OutOfcpu, OutOfpods, UnexpectedAdmissionError. */
const refusedByNode = (reason: string | undefined): boolean =>
  reason !== undefined && /^(OutOf|UnexpectedAdmissionError)/.test(reason);

const MAX_MESSAGE_LENGTH = 300;

function describeExit({ status }: RawPod, state: V1ContainerState | undefined): string {
  const terminated = state?.terminated;
  if (!terminated) return [status?.reason, status?.message].filter(Boolean).join(': ') || 'it never started';
  const how = describeEnd(terminated);
  const lastLine = terminated.exitCode === 0 ? null : lastLogMessage(terminated.message ?? '');
  return lastLine === null ? how : `${how}: ${lastLine}`;
}

const GENERIC_REASONS = new Set([undefined, 'Error', 'Completed']);

function describeEnd({ exitCode, reason, signal }: V1ContainerStateTerminated): string {
  const code = signal ? `ended by signal ${signal}` : `exit code ${exitCode}`;
  return GENERIC_REASONS.has(reason) ? code : `${reason} (${code})`;
}

/** Last line of its log; the message if the line is JSON. */
function lastLogMessage(log: string): string | null {
  const line = log.trimEnd().split('\n').at(-1) ?? '';
  if (line === '') return null;
  const text = parseLogMessage(line) ?? line;
  return text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH)}...` : text;
}

function parseLogMessage(line: string): string | null {
  try {
    const { msg } = JSON.parse(line) as { msg?: unknown };
    return typeof msg === 'string' ? msg : null;
  } catch {
    return null;
  }
}

const IMAGE_PULL_REASONS = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ErrImageInspect',
  'RegistryUnavailable',
]);
const NORMAL_WAITING_REASONS = new Set(['ContainerCreating', 'PodInitializing']);

function readWaitingReason({ status }: RawPod, state: V1ContainerState | undefined): WaitingReason | null {
  const waiting = state?.waiting;
  if (waiting?.reason !== undefined && !NORMAL_WAITING_REASONS.has(waiting.reason)) {
    const reason = IMAGE_PULL_REASONS.has(waiting.reason) ? 'ImagePullFailed' : 'ContainerNotStarted';
    return { reason, message: [waiting.reason, waiting.message].filter(Boolean).join(': ') };
  }
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status !== 'False') return null;
  return { reason: 'Unschedulable', message: scheduled.message ?? 'No node accepts the pod' };
}

function parseTime(time: Date | string | undefined): number | null {
  return time === undefined ? null : new Date(time).getTime();
}

export type RawNode = KubeObject & Pick<V1Node, 'spec' | 'status'>;

const LOST_TAINTS = new Set(['node.kubernetes.io/unreachable', 'node.kubernetes.io/out-of-service']);

/**
 * A node is lost when its kubelet has been unreachable for so long that the control plane gave it up. A node that
 * reports itself not ready still answers.
 */
export function isNodeLost({ spec, status }: RawNode): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const tainted = spec?.taints?.some(({ key }) => LOST_TAINTS.has(key)) ?? false;
  return ready?.status === 'Unknown' || tainted;
}
