import { FINALIZER, type InstanceResource } from '@gwk/core/resources/manifest';
import { isSameChoice, type Pod, type PodTemplate, type WaitingReason } from '../cluster/cluster.js';
import { CRASH_LOOP_FAILURES } from './history.js';
import { holdsLease, isWorking, getKnownInstance, type KnownInstance, type Observed } from './observed.js';

/** Actions, in the order they run. Each is idempotent, and the next reconcile reads the cluster again. */
export type Action =
  | { do: 'add-finalizer' }
  | { do: 'remove-finalizer' }
  /** Asks the cluster whether it would accept the pod. */
  | { do: 'try-pod'; instanceId: string; template: PodTemplate }
  | { do: 'create-pod'; instanceId: string; template: PodTemplate }
  | PodAction
  | { do: 'report-ended'; name: string; instanceId: string }
  | { do: 'remove-row' }
  | { do: 'delete-resource' };

export interface PodAction {
  do: 'verify-pod' | 'delete-pod' | 'force-delete-pod';
  name: string;
}

export interface Decision {
  /** Reason of the EngineRunning condition. */
  reason: EngineReason;
  message: string;
  actions: Action[];
  /** When to reconcile again if no event arrives; null: not needed. */
  recheckMs: RecheckMs | null;
}

/** Only `recheckIn` makes one, so no decision can make the operator spin. */
type RecheckMs = number & { readonly __min: typeof MIN_RECHECK_MS };

export type EngineReason =
  | 'EngineExited'
  | 'EngineStopping'
  | 'NodeUnreachable'
  | 'ResourceDeleted'
  | 'PreviousPodRunning'
  | 'Deleting'
  | 'FinalizerMissing'
  | 'WaitingForAPI'
  | 'DeletedThroughAPI'
  | 'NotAccepted'
  | 'Suspended'
  | 'Banned'
  | 'Idle'
  | 'ProfileUnknown'
  | 'EngineOutdated'
  | WaitingReason['reason']
  | 'EngineUnresponsive'
  | 'EngineStarting'
  | 'CrashLoop'
  | 'WaitingToRestart'
  | 'EngineAbsent'
  | 'EngineNotCreated'
  | 'EngineRunning';

/** The resource exists. */
type WithResource = Observed & { resource: InstanceResource };
/** The API has a row for the resource. */
type WithRow = WithResource & { known: KnownInstance };

/** Safety margin after the end of a lease, because clocks differ. */
const LEASE_MARGIN_MS = 1000;
const REJECTED_RECHECK_MS = 30_000;
const UNREACHABLE_RECHECK_MS = 10_000;
/** Interval of observations while the API answers: nothing that a decision waits for changes sooner without an event. */
const MIN_RECHECK_MS = 1000;

const recheckIn = (ms: number): RecheckMs => Math.max(ms, MIN_RECHECK_MS) as RecheckMs;

/**
 * The first check that applies decides. The checks are ordered by safety: everything known about a pod that may still
 * run comes before any reason to start one, so that no later rule can create a second pod.
 */
export function decide(observed: Observed): Decision {
  const { resource, projection } = observed;
  const early = podEnded(observed) ?? podEnding(observed) ?? nodeUnreachable(observed);
  if (early) return early;
  if (!resource) return because('ResourceDeleted', 'The resource was deleted', stop(observed.pod));
  const present = { ...observed, resource };
  const refused =
    previousPodRunning(present) ??
    deleting(present) ??
    finalizerMissing(present) ??
    deletedThroughApi(present) ??
    notAccepted(present);
  if (refused) return refused;
  const known = getKnownInstance(projection);
  if (!known) return waitingForApi(present);
  return withRejection(observed, decideEngine({ ...present, known }));
}

function decideEngine(observed: WithRow): Decision {
  const decision =
    suspended(observed) ??
    banned(observed) ??
    idle(observed) ??
    profileUnknown(observed) ??
    outdated(observed) ??
    unresponsive(observed) ??
    starting(observed) ??
    waitingToRestart(observed) ??
    absent(observed) ??
    because('EngineRunning', 'The engine is running and holds the lease');
  return recheckWithin(recheckWithin(decision, untilIdle(observed)), untilRetry(observed));
}

function because(
  reason: EngineReason,
  message: string,
  actions: Action[] = [],
  recheckMs: number | null = null,
): Decision {
  return { reason, message, actions, recheckMs: recheckMs === null ? null : recheckIn(recheckMs) };
}

function recheckWithin(decision: Decision, ms: number | null): Decision {
  if (ms === null) return decision;
  return { ...decision, recheckMs: recheckIn(Math.min(decision.recheckMs ?? ms, ms)) };
}

/** First free the lease of the engine that exited, so that nobody waits for it to expire. */
function podEnded({ pod }: Observed): Decision | null {
  if (pod.phase !== 'ended') return null;
  const { name, instanceId } = pod;
  return because('EngineExited', `The engine exited: ${pod.how}`, [
    { do: 'report-ended', name, instanceId },
    { do: 'delete-pod', name },
  ]);
}

function podEnding(observed: Observed): Decision | null {
  const { pod } = observed;
  if (pod.phase !== 'ending') return null;
  return forceRemoval(observed, pod.endingSince) ?? because('EngineStopping', 'The engine is stopping');
}

/**
 * An engine that does not end must not block the deletion of its resource forever. The operator removes the row, so
 * that the API refuses every call of the engine. Once its lease has ended, the operator removes the finalizer too.
 * The pod itself may stay.
 */
function forceRemoval(observed: Observed, since: number | null): Decision | null {
  const { resource, now, limits } = observed;
  if (since === null || resource?.metadata.deletionTimestamp === undefined || !hasFinalizer(resource))
    return null;
  const wait = since + limits.stuckMs - now;
  if (wait > 0) return because('EngineStopping', 'The engine is stopping', [], wait);
  return removeRow(observed, 'Removing the finalizer although the engine does not end', {
    do: 'remove-finalizer',
  });
}

/**
 * The pod may still run. The operator starts no other engine and keeps the pod until its lease has ended without
 * renewal. It then takes the lease, so that no write of the old engine is accepted, and only then deletes the pod.
 */
function nodeUnreachable(observed: Observed): Decision | null {
  const { pod, resource } = observed;
  if (pod.phase !== 'unknown') return null;
  const fence: Action[] = [
    { do: 'report-ended', name: pod.name, instanceId: pod.instanceId },
    { do: 'force-delete-pod', name: pod.name },
  ];
  const isDeleting = resource?.metadata.deletionTimestamp !== undefined && hasFinalizer(resource);
  const decision = isDeleting
    ? removeRow(observed, 'Its lease has ended; deleting the pod', ...fence)
    : afterLeaseEnd(observed, pod.name, fence);
  const message = `The node of pod ${pod.shownAs} is unreachable. ${decision.message}`;
  return { ...recheckWithin(decision, UNREACHABLE_RECHECK_MS), reason: 'NodeUnreachable', message };
}

function afterLeaseEnd({ projection }: Observed, name: string, then: Action[]): Decision {
  const known = getKnownInstance(projection);
  if (!known) return because('NodeUnreachable', 'Waiting for the API to report the lease holder');
  const { pod: holder, expires_at: end } = known.facts.lease;
  const held = holder === name && end !== null && known.observedAt < Date.parse(end) + LEASE_MARGIN_MS;
  if (held) return because('NodeUnreachable', 'Waiting until its lease ends');
  return because('NodeUnreachable', 'Its lease has ended; deleting the pod', then);
}

/** Removes the row, waits for a lease that some engine still holds, then runs the rest. */
function removeRow({ removal, now }: Observed, message: string, ...then: Action[]): Decision {
  const say = (text: string, ...actions: Action[]) => because('Deleting', text, actions);
  if (!removal.requested) return say('Removing the instance from the API', { do: 'remove-row' });
  if (removal.leaseEndsAt === null) return say(message, ...then);
  const wait = removal.leaseEndsAt + LEASE_MARGIN_MS - now;
  if (wait <= 0) return say('Removing the instance from the API', { do: 'remove-row' });
  return recheckWithin(say('Waiting for the lease of another engine to end'), wait);
}

function previousPodRunning({ resource, pod }: WithResource): Decision | null {
  if (pod.phase === 'absent' || pod.uid === resource.metadata.uid) return null;
  return because(
    'PreviousPodRunning',
    'Waiting for the engine of a previous resource of this name to stop',
    stop(pod),
  );
}

/**
 * In this order: stop the engine, wait until the pod is gone, remove the row, wait for a foreign lease, remove the
 * finalizer.
 */
function deleting(observed: WithResource): Decision | null {
  const { resource, pod } = observed;
  if (resource.metadata.deletionTimestamp === undefined) return null;
  if (pod.phase !== 'absent') return because('Deleting', 'Stopping the engine', stop(pod));
  if (!hasFinalizer(resource)) return because('Deleting', 'Waiting for other finalizers');
  return removeRow(observed, 'Removing the finalizer', { do: 'remove-finalizer' });
}

/** Add the finalizer before creating a row or an engine: the resource must not disappear unnoticed. */
function finalizerMissing({ resource }: WithResource): Decision | null {
  if (hasFinalizer(resource)) return null;
  return because('FinalizerMissing', 'Adding the finalizer', [{ do: 'add-finalizer' }]);
}

/** Somebody deleted the instance through the API, and the API did not get to deleting the resource. */
function deletedThroughApi({ projection, pod }: WithResource): Decision | null {
  if (projection.kind !== 'rejected' || projection.reason !== 'Deleted') return null;
  return because('DeletedThroughAPI', projection.message, [...stop(pod), { do: 'delete-resource' }]);
}

/** A rejected change leaves a running instance alone, unless the account is closed to its namespace. */
function notAccepted({ projection, pod }: WithResource): Decision | null {
  if (projection.kind !== 'rejected') return null;
  if (projection.known && projection.reason !== 'AccountNotAllowed') return null;
  return because('NotAccepted', projection.message, stop(pod), REJECTED_RECHECK_MS);
}

/** Without an answer from the API the operator starts nothing and stops nothing. */
function waitingForApi({ projection }: WithResource): Decision {
  const error = projection.kind === 'unknown' ? projection.error : null;
  return because('WaitingForAPI', error ?? 'Waiting for the API to register the resource');
}

/** The API may accept it later without a change here: a name becomes free, or somebody raises a limit. */
function withRejection({ projection }: Observed, decision: Decision): Decision {
  return projection.kind === 'rejected' ? recheckWithin(decision, REJECTED_RECHECK_MS) : decision;
}

function suspended({ resource, pod }: WithRow): Decision | null {
  return resource.spec.suspended ? because('Suspended', 'spec.suspended is true', stop(pod)) : null;
}

/** A temporary ban needs the engine, which waits for its end. A permanent ban needs none. */
function banned({ known, pod }: WithRow): Decision | null {
  if (known.facts.state !== 'banned' || known.facts.banned_until !== null) return null;
  return because('Banned', 'The network banned the phone number', stop(pod));
}

function idle(observed: WithRow): Decision | null {
  const at = findIdleTime(observed);
  if (at === null) return null;
  const { pod, known, limits, unpairedEngines } = observed;
  const isSurplus = pod.phase === 'absent' && unpairedEngines >= limits.maxUnpairedEngines;
  if (known.observedAt < at && !isSurplus) return null;
  return because('Idle', 'Not paired, and no pairing is active; pairing starts the engine', stop(pod));
}

/** A running engine stays: removing a profile by mistake must not disconnect instances. */
function profileUnknown({ resource, pod, template }: WithRow): Decision | null {
  if (template || pod.phase !== 'absent') return null;
  const profile = resource.spec.engine?.profile ?? 'default';
  return because('ProfileUnknown', `The operator has no engine profile ${profile}`);
}

/**
 * A change by the owner applies at once. An upgrade of a working engine waits for its turn in the rollout, and stops the engine
 * only if the cluster accepts the new pod.
 */
function outdated({ pod, template, projection, known, turn }: WithRow): Decision | null {
  if (pod.phase === 'absent' || !template) return null;
  if (!isSameChoice(pod.template, template))
    return because('EngineOutdated', 'Replacing the engine because its settings changed', stop(pod));
  if (pod.template.revision === template.revision) return null;
  const actions = stop(pod);
  if (isWorking(pod, projection)) {
    if (!turn?.granted) return null;
    actions.unshift({ do: 'try-pod', instanceId: known.facts.id, template });
  }
  return because('EngineOutdated', 'Replacing the engine because its version is outdated', actions);
}

/** Whether a working engine should be replaced by one of the current revision. */
export function needsUpgrade({ pod, template, projection }: Observed): boolean {
  if (pod.phase === 'absent' || !template || !isSameChoice(pod.template, template)) return false;
  return pod.template.revision !== template.revision && isWorking(pod, projection);
}

/**
 * The process runs, and for a long time nobody has held the lease. A healthy engine takes the lease or exits, so this
 * one hangs. Only time during which the API answered counts (`leaseFreeSince`).
 */
function unresponsive(observed: WithRow): Decision | null {
  const unresponsiveMs = unresponsiveFor(observed);
  if (unresponsiveMs === null || unresponsiveMs < observed.limits.leaseTimeoutMs) return null;
  return because(
    'EngineUnresponsive',
    'Replacing the engine because it runs without taking its lease',
    stop(observed.pod),
  );
}

/** How long the engine has run without anybody holding the lease, as of the last observation. */
function unresponsiveFor({ pod, known }: WithRow): number | null {
  if (pod.phase !== 'running' || known.leaseFreeSince === null) return null;
  return known.observedAt - Math.max(known.leaseFreeSince, pod.startedAt);
}

function starting(observed: WithRow): Decision | null {
  const { pod, projection, limits } = observed;
  if (pod.phase === 'absent' || holdsLease(pod, projection)) return null;
  const waiting = pod.phase === 'starting' ? pod.waiting : null;
  const isUnverified = pod.phase === 'starting' && pod.unverified === true;
  const actions: Action[] = isUnverified ? [{ do: 'verify-pod', name: pod.name }] : [];
  if (waiting) return because(waiting.reason, waiting.message, actions, limits.leaseTimeoutMs);
  // The observation that confirms the timeout arrives a little later.
  const recheckMs = limits.leaseTimeoutMs - (unresponsiveFor(observed) ?? 0);
  return because('EngineStarting', 'Waiting for the engine to take its lease', actions, recheckMs);
}

function waitingToRestart({ now, pod, history }: WithRow): Decision | null {
  const wait = history.nextStartAt - now;
  if (pod.phase !== 'absent' || wait <= 0) return null;
  const reason = history.failures >= CRASH_LOOP_FAILURES ? 'CrashLoop' : 'WaitingToRestart';
  const next = new Date(history.nextStartAt).toISOString();
  const message = `The engine exited ${history.failures} times in a row (${history.lastError}); next start at ${next}`;
  return because(reason, message, [], wait);
}

function absent({ now, pod, known, template, refusal }: WithRow): Decision | null {
  if (pod.phase !== 'absent' || !template) return null;
  const create: Action = { do: 'create-pod', instanceId: known.facts.id, template };
  if (refusal) return because('EngineNotCreated', refusal.message, refusal.retryAt > now ? [] : [create]);
  return because('EngineAbsent', 'Starting an engine', [create]);
}

/** Time until the cluster may be asked again for the pod that it refused. */
function untilRetry({ now, refusal }: WithRow): number | null {
  return refusal && refusal.retryAt > now ? refusal.retryAt - now : null;
}

function stop(pod: Pod): Action[] {
  return pod.phase === 'absent' ? [] : [{ do: 'delete-pod', name: pod.name }];
}

export function hasFinalizer({ metadata }: InstanceResource): boolean {
  return metadata.finalizers?.includes(FINALIZER) ?? false;
}

export function readEngineChoice({ spec }: InstanceResource): Omit<PodTemplate, 'revision'> {
  return { profile: spec.engine?.profile ?? 'default', logLevel: spec.logLevel ?? null };
}

/** No phone is linked, and none is being linked. */
export const isUnpaired = ({ state, pairing }: KnownInstance['facts']): boolean =>
  (state === 'pending_pair' || state === 'logged_out') && !pairing;

/**
 * When the instance counts as idle; null: it is paired or being paired. A new sandbox connects by itself, so it does
 * not count as unpaired.
 */
function findIdleTime({ known, limits }: WithRow): number | null {
  const { facts, pairingSeenAt } = known;
  if (!isUnpaired(facts)) return null;
  return Math.max(Date.parse(facts.state_changed_at), pairingSeenAt ?? 0) + limits.idleMs;
}

/** Null: nothing to wait for. An older observation does not decide: a pairing may have started since. */
function untilIdle(observed: WithRow): number | null {
  const at = findIdleTime(observed);
  return at === null || observed.known.observedAt >= at ? null : at - observed.now;
}
