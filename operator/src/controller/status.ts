import { toPublicId } from '@gwk/core/ids/ids';
import type { Condition, InstanceResource, InstanceResourceStatus } from '@gwk/core/resources/manifest';
import type { InstanceEvent } from '../cluster/cluster.js';
import type { Decision, EngineReason } from './decide.js';
import { holdsLease, getKnownInstance, type Observed } from './observed.js';

type Type = Condition['type'];
type Outcome = Pick<Condition, 'status' | 'reason' | 'message'>;

const withStatus =
  (status: Condition['status']) =>
  (reason: string, message: string): Outcome => ({ status, reason, message });
const yes = withStatus('True');
const no = withStatus('False');
const unknown = withStatus('Unknown');

/** Builds the status. Equal input gives an equal status, so nothing is written at rest. */
export function buildStatus(observed: Observed, decision: Decision): InstanceResourceStatus {
  const resource = observed.resource!;
  const previous = resource.status;
  const observedGeneration = getGeneration(observed, resource);
  const outcomes = evaluate(observed, decision);
  const conditions = (Object.entries(outcomes) as [Type, Outcome][]).map(([type, outcome]) => {
    const before = previous?.conditions.find((condition) => condition.type === type);
    const isUnchanged = before?.status === outcome.status;
    const lastTransitionTime = isUnchanged ? before.lastTransitionTime : new Date(observed.now).toISOString();
    return { type, ...outcome, observedGeneration, lastTransitionTime };
  });
  const { status, reason } = outcomes.EngineRunning;
  const mayRun = status === 'True' || reason === OUTAGE_REASON;
  return {
    ...buildIdentity(observed, previous),
    observedGeneration,
    conditions,
    engine: buildEngine(observed),
    lastError: mayRun ? null : findLastError(observed),
  };
}

/** Generation that the API accepted, which may be older than the resource's. */
function getGeneration({ projection }: Observed, resource: InstanceResource): number {
  if (projection.kind !== 'unknown') return projection.generation;
  return resource.status?.observedGeneration ?? resource.metadata.generation;
}

function evaluate(observed: Observed, decision: Decision): Record<Type, Outcome> {
  const Accepted = accepted(observed);
  const EngineRunning = engineRunning(observed, decision);
  const Paired = paired(observed);
  const Connected = connected(observed);
  const UpToDate = upToDate(observed);
  const known = { Accepted, EngineRunning, Paired, Connected };
  const shown = { ...known, ...hideOutdated(known, observed) };
  return { Ready: ready(shown, observed), ...shown, UpToDate };
}

/**
 * While the API does not answer, conditions that depend on the API become Unknown, except without a pod. The message is
 * the same throughout an outage, so it is written once.
 */
function hideOutdated(
  { EngineRunning, Paired }: Record<'EngineRunning' | 'Paired', Outcome>,
  { pod, outage }: Observed,
): Partial<Record<'EngineRunning' | 'Paired' | 'Connected', Outcome>> {
  if (!outage || pod.phase === 'absent' || pod.phase === 'ended') return {};
  const hidden = unknown(
    OUTAGE_REASON,
    `The API has not answered since ${new Date(outage.since).toISOString()}`,
  );
  const needsLease = EngineRunning.status === 'True' || EngineRunning.reason === 'EngineStarting';
  return {
    ...(needsLease && pod.phase === 'running' && { EngineRunning: hidden }),
    ...(Paired.reason !== 'Sandbox' && { Paired: hidden }),
    Connected: hidden,
  };
}

const OUTAGE_REASON = 'APIUnavailable';

function accepted({ projection }: Observed): Outcome {
  if (projection.kind === 'accepted') return yes('Accepted', 'The account accepts this instance');
  if (projection.kind === 'rejected') return no(projection.reason, projection.message);
  return unknown('Pending', projection.error ?? 'Waiting for the first answer of the API');
}

const ENGINE_UNKNOWN: readonly EngineReason[] = ['NodeUnreachable', 'FinalizerMissing', 'WaitingForAPI'];

function engineRunning(observed: Observed, { reason, message }: Decision): Outcome {
  if (holdsLease(observed.pod, observed.projection) && observed.pod.phase === 'running') {
    return yes('EngineRunning', 'The engine is running and holds the lease');
  }
  return ENGINE_UNKNOWN.includes(reason) ? unknown(reason, message) : no(reason, message);
}

function paired({ resource, projection }: Observed): Outcome {
  const known = getKnownInstance(projection);
  if (!known) return unknown('Pending', 'Waiting for the API');
  const { state, first_paired_at: firstPairedAt, pairing } = known.facts;
  if (state === 'pending_pair' || state === 'logged_out') {
    const how = `to pair it, run: ${pairCommand(resource!)}`;
    if (pairing)
      return no(
        'PairingOpen',
        `A pairing session is open; to see its code or the page for its passkey, run: ${pairCommand(resource!)}`,
      );
    return firstPairedAt === null
      ? no('NeverPaired', `No phone has paired yet; ${how}`)
      : no('LoggedOut', `The device was unlinked; ${how}`);
  }
  if (resource!.spec.kind === 'sandbox') return yes('Sandbox', 'A sandbox needs no phone');
  return yes('Paired', 'Paired');
}

const pairCommand = ({ metadata: { name, namespace } }: InstanceResource): string =>
  `gwk pair ${name}${namespace === 'default' ? '' : ` -n ${namespace}`}`;

const STATE_REASONS = {
  pending_pair: 'PendingPair',
  connecting: 'Connecting',
  connected: 'Connected',
  disconnected: 'Disconnected',
  logged_out: 'LoggedOut',
  banned: 'Banned',
} as const;

const VERSION_REFUSED = no(
  'ClientVersionRefused',
  'The network refuses every known client version; see: gwk network-version show, and pin a version with: gwk network-version pin <version>',
);

function connected({ pod, projection }: Observed): Outcome {
  const known = getKnownInstance(projection);
  if (!known) return unknown('Pending', 'Waiting for the API');
  const { state, state_reason: why } = known.facts;
  const message = why === null ? state : `${state}: ${why}`;
  if (state === 'disconnected' && why?.startsWith('version_rejected_')) return VERSION_REFUSED;
  if (state !== 'connected') return no(STATE_REASONS[state], message);
  if (holdsLease(pod, projection)) return yes('Connected', 'Ready to send and receive');
  return unknown('EngineNotRunning', 'Connected when last observed, but no engine holds the lease now');
}

/** Whether the engine has the version and the profile of the operator. */
function upToDate({ pod, template, turn }: Observed): Outcome {
  if (pod.phase === 'absent' || pod.phase === 'ended') return unknown('NoEngine', 'No engine runs');
  if (template && pod.template.revision === template.revision)
    return yes('UpToDate', 'The engine has the current version and profile');
  if (turn && !turn.granted) return no(turn.reason, turn.message);
  return no('Upgrading', 'The engine is being replaced');
}

/** Takes the reason of the first condition that is not True. An outdated engine is as ready as others. */
function ready(
  conditions: Record<Exclude<Type, 'Ready' | 'UpToDate'>, Outcome>,
  { resource }: Observed,
): Outcome {
  if (resource!.metadata.deletionTimestamp !== undefined)
    return no('Deleting', 'The resource is being deleted');
  const first = Object.values(conditions).find(({ status }) => status !== 'True');
  return first ?? yes('Ready', 'Ready to send and receive');
}

function buildIdentity({ projection }: Observed, previous: InstanceResourceStatus | undefined) {
  const known = getKnownInstance(projection);
  if (known) {
    const { id, state, state_changed_at: since } = known.facts;
    return { id: toPublicId('instance', id), state, since };
  }
  if (projection.kind === 'rejected' || !previous) return {};
  const { id, state, since } = previous;
  return { id, state, since };
}

function buildEngine({ pod }: Observed): InstanceResourceStatus['engine'] {
  if (pod.phase === 'absent' || pod.phase === 'ended') return null;
  const { shownAs, node, version, startedAt } = pod;
  return { pod: shownAs, node, version, startedAt: new Date(startedAt).toISOString() };
}

function findLastError({ projection, history }: Observed): string | null {
  if (history.lastError !== null) return history.lastError;
  return projection.kind === 'unknown' ? projection.error : null;
}

/** Conditions whose changes become events. */
const EVENT_CONDITIONS: readonly Type[] = ['Accepted', 'EngineRunning', 'Paired', 'Connected'];

/**
 * Changes between two statuses, as events. Expected changes are left out, because each event is a call of the API:
 * that the API accepted a new resource, that a sandbox needs no phone, and the first of two conditions that changed
 * together.
 */
export function listStatusEvents(
  before: InstanceResourceStatus | undefined,
  after: InstanceResourceStatus,
): InstanceEvent[] {
  const changed = EVENT_CONDITIONS.flatMap((type) => {
    const [old, now] = [before, after].map((status) => status?.conditions.find((item) => item.type === type));
    return now && isNews(old, now) ? [now] : [];
  });
  const connected = changed.some(({ reason }) => reason === 'Connected');
  return changed
    .filter(({ reason }) => !connected || reason !== 'EngineRunning')
    .map((now) => ({
      type: isWarning(now) ? 'Warning' : 'Normal',
      reason: now.reason,
      message: now.message,
    }));
}

function isNews(old: Condition | undefined, now: Condition): boolean {
  if (now.status === 'Unknown' || ALREADY_RECORDED.has(now.reason)) return false;
  if (old?.status === now.status && old.reason === now.reason) return false;
  // After an outage, all instances are as they were before.
  if (old?.reason === OUTAGE_REASON && now.status === 'True') return false;
  return old?.status === 'False' || !EXPECTED.has(now.reason);
}

/** Recorded only if the condition was False before. */
const EXPECTED = new Set(['Accepted', 'Sandbox']);
/** Already recorded by the event of the start, which names the pod, or of the rejection. */
const ALREADY_RECORDED = new Set(['EngineAbsent', 'EngineNotCreated', 'EngineStarting', 'NotAccepted']);
const WARNING_REASONS = new Set([
  'CrashLoop',
  'EngineExited',
  'EngineUnresponsive',
  'Banned',
  'ClientVersionRefused',
  'LoggedOut',
  'NodeUnreachable',
  'ImagePullFailed',
  'Unschedulable',
  'ContainerNotStarted',
  'ProfileUnknown',
]);

function isWarning({ type, status, reason }: Condition): boolean {
  return WARNING_REASONS.has(reason) || (type === 'Accepted' && status === 'False');
}
