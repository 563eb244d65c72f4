import { toPublicId } from '@gwk/core/ids';
import type { Condition, InstanceResource, InstanceResourceStatus } from '@gwk/core/resources/manifest';
import type { InstanceEvent } from '../cluster/cluster.js';
import type { Decision, EngineReason } from './decide.js';
import { holdsLease, getKnownInstance, type Observed } from './observed.js';

type Type = Condition['type'];
type Judgement = Pick<Condition, 'status' | 'reason' | 'message'>;

const verdict =
  (status: Condition['status']) =>
  (reason: string, message: string): Judgement => ({ status, reason, message });
const yes = verdict('True');
const no = verdict('False');
const unknown = verdict('Unknown');

/** The status of the resource as far as it is known now. Equal input gives an equal status: nothing moves at rest. */
export function buildStatus(observed: Observed, decision: Decision): InstanceResourceStatus {
  const resource = observed.resource!;
  const previous = resource.status;
  const generation = generationOf(observed, resource);
  const judgements = judge(observed, decision);
  const conditions = (Object.entries(judgements) as [Type, Judgement][]).map(([type, judgement]) =>
    conditionOf(type, judgement, { generation, previous, now: observed.now }),
  );
  const engineRuns = judgements.EngineRunning.status === 'True';
  return {
    ...identityOf(observed, previous),
    observedGeneration: generation,
    conditions,
    engine: engineOf(observed),
    lastError: engineRuns ? null : lastErrorOf(observed),
  };
}

/** What was judged is the generation that the API has taken in, which may be older than the resource's. */
function generationOf({ projection }: Observed, resource: InstanceResource): number {
  if (projection.kind !== 'unknown') return projection.generation;
  return resource.status?.observedGeneration ?? resource.metadata.generation;
}

function judge(observed: Observed, decision: Decision): Record<Type, Judgement> {
  const Accepted = accepted(observed);
  const EngineRunning = engineRunning(observed, decision);
  const Paired = paired(observed);
  const Connected = connected(observed);
  return {
    Ready: ready({ Accepted, EngineRunning, Paired, Connected }, observed),
    Accepted,
    EngineRunning,
    Paired,
    Connected,
  };
}

function accepted({ projection }: Observed): Judgement {
  if (projection.kind === 'accepted') return yes('Accepted', 'The account takes this instance');
  if (projection.kind === 'rejected') return no(projection.reason, projection.message);
  return unknown('Pending', projection.error ?? 'The API has not been asked yet');
}

const ENGINE_UNKNOWN: readonly EngineReason[] = ['NodeUnreachable', 'NotYetHeld', 'NotProjected'];

function engineRunning(observed: Observed, { finding, message }: Decision): Judgement {
  if (holdsLease(observed.pod, observed.projection) && observed.pod.phase === 'running') {
    return yes('EngineRunning', 'The engine runs and holds the number');
  }
  return ENGINE_UNKNOWN.includes(finding) ? unknown(finding, message) : no(finding, message);
}

function paired({ resource, projection }: Observed): Judgement {
  const known = getKnownInstance(projection);
  if (!known) return unknown('Pending', 'The API has not said');
  const { state, first_paired_at: firstPairedAt, jid, pairing } = known.facts;
  if (state === 'pending_pair' || state === 'logged_out') {
    const how = `to pair one: ${pairCommand(resource!)}`;
    if (pairing)
      return no('PairingOpen', `A pairing session is open; to see its code: ${pairCommand(resource!)}`);
    return firstPairedAt === null
      ? no('NeverPaired', `No phone has paired yet; ${how}`)
      : no('LoggedOut', `The device was unlinked; ${how}`);
  }
  if (resource!.spec.kind === 'sandbox') return yes('Sandbox', 'A sandbox needs no phone');
  return yes('Paired', jid === null ? 'Paired' : `Paired as ${jid}`);
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

function connected({ pod, projection }: Observed): Judgement {
  const known = getKnownInstance(projection);
  if (!known) return unknown('Pending', 'The API has not said');
  const { state, state_reason: why } = known.facts;
  const message = why === null ? state : `${state}: ${why}`;
  if (state !== 'connected') return no(STATE_REASONS[state], message);
  if (holdsLease(pod, projection)) return yes('Connected', 'Ready to send and receive');
  return unknown('EngineNotRunning', 'Connected when last heard of; no engine holds the number now');
}

/** The first condition that does not hold says why. */
function ready(conditions: Record<Exclude<Type, 'Ready'>, Judgement>, { resource }: Observed): Judgement {
  if (resource!.metadata.deletionTimestamp !== undefined)
    return no('Deleting', 'The resource is being deleted');
  const { Accepted, EngineRunning, Paired, Connected } = conditions;
  const first = [Accepted, EngineRunning, Paired, Connected].find(({ status }) => status !== 'True');
  if (!first) return yes('Ready', 'Ready to send and receive');
  return { ...first };
}

interface Before {
  generation: number;
  previous: InstanceResourceStatus | undefined;
  now: number;
}

function conditionOf(type: Type, judgement: Judgement, { generation, previous, now }: Before): Condition {
  const before = previous?.conditions.find((condition) => condition.type === type);
  const unmoved = before?.status === judgement.status;
  const lastTransitionTime = unmoved ? before.lastTransitionTime : new Date(now).toISOString();
  return { type, ...judgement, observedGeneration: generation, lastTransitionTime };
}

function identityOf({ projection }: Observed, previous: InstanceResourceStatus | undefined) {
  const known = getKnownInstance(projection);
  if (known) {
    const { id, state, state_changed_at: since, jid } = known.facts;
    return { id: toPublicId('instance', id), state, phone: phoneOf(jid), jid, since };
  }
  if (projection.kind === 'rejected' || !previous) return {};
  const { id, state, phone, jid, since } = previous;
  return {
    ...(id !== undefined && { id }),
    ...(state !== undefined && { state }),
    phone,
    jid,
    ...(since !== undefined && { since }),
  };
}

/** `5511999990000:3@s.whatsapp.net` is a device of 5511999990000. */
function phoneOf(jid: string | null): string | null {
  return jid === null ? null : (/^\d+/.exec(jid)?.[0] ?? null);
}

function engineOf({ pod }: Observed): InstanceResourceStatus['engine'] {
  if (pod.phase === 'absent' || pod.phase === 'ended') return null;
  const { shownAs, node, version, startedAt } = pod;
  return {
    pod: shownAs,
    ...(node !== null && { node }),
    version,
    startedAt: new Date(startedAt).toISOString(),
  };
}

function lastErrorOf({ projection, history }: Observed): string | null {
  if (history.lastError !== null) return history.lastError;
  return projection.kind === 'unknown' ? projection.error : null;
}

/** Conditions that people read first; their moves are the story. */
const TOLD: readonly Type[] = ['Accepted', 'EngineRunning', 'Paired', 'Connected'];

/**
 * What changed between two statuses, as lines for `describe`. What goes without saying is left out, each line being a
 * call of the API: that a new resource was taken, that a sandbox needs no phone, and of what came to be at one moment
 * the first half.
 */
export function listStatusEvents(
  before: InstanceResourceStatus | undefined,
  after: InstanceResourceStatus,
): InstanceEvent[] {
  const moved = TOLD.flatMap((type) => {
    const [old, now] = [before, after].map((status) => status?.conditions.find((item) => item.type === type));
    if (!now || now.status === 'Unknown' || UNTOLD.has(now.reason)) return [];
    if (old?.status === now.status && old.reason === now.reason) return [];
    return old?.status === 'False' || !AS_EXPECTED.has(now.reason) ? [now] : [];
  });
  const connected = moved.some(({ reason }) => reason === 'Connected');
  return moved
    .filter(({ reason }) => !connected || reason !== 'EngineRunning')
    .map((now) => ({
      type: isTrouble(now) ? 'Warning' : 'Normal',
      reason: now.reason,
      message: now.message,
    }));
}

/** Worth a line only where it was not so before. */
const AS_EXPECTED = new Set(['Accepted', 'Sandbox']);
/** Told already: by the start, which names the pod, or by the refusal. */
const UNTOLD = new Set(['EngineAbsent', 'EngineStarting', 'NotAccepted']);
const TROUBLE = new Set([
  'CrashLoop',
  'EngineEnded',
  'EngineSilent',
  'Banned',
  'LoggedOut',
  'NodeUnreachable',
  'ImagePullFailed',
  'Unschedulable',
  'ContainerNotStarted',
  'ProfileUnknown',
]);

function isTrouble({ type, status, reason }: Condition): boolean {
  return TROUBLE.has(reason) || (type === 'Accepted' && status === 'False');
}
