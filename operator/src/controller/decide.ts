import { FINALIZER, type InstanceResource } from '@gwk/core/resources/manifest';
import { isSameChoice, type Pod, type PodTemplate, type WaitingReason } from '../cluster/cluster.js';
import { CRASH_LOOP_FAILURES } from './history.js';
import { holdsLease, getKnownInstance, type KnownInstance, type Observed } from './observed.js';

/** What to do, in this order. Each is repeatable, and the next pass looks at the world anew. */
export type Action =
  | { do: 'add-finalizer' }
  | { do: 'remove-finalizer' }
  | { do: 'create-pod'; instanceId: string; template: PodTemplate }
  | { do: 'delete-pod'; name: string }
  | { do: 'force-delete-pod'; name: string }
  | { do: 'report-ended'; name: string; instanceId: string }
  | { do: 'remove-row' }
  | { do: 'delete-resource' };

export interface Decision {
  /** The reason of the EngineRunning condition. */
  finding: EngineReason;
  message: string;
  actions: Action[];
  /** When the answer may change though nothing is heard. */
  recheckMs: number | null;
}

export type EngineReason =
  | 'EngineEnded'
  | 'EngineEnding'
  | 'NodeUnreachable'
  | 'ResourceGone'
  | 'FormerPod'
  | 'Deleting'
  | 'NotYetHeld'
  | 'NotProjected'
  | 'DeletedElsewhere'
  | 'NotAccepted'
  | 'Suspended'
  | 'Banned'
  | 'Idle'
  | 'ProfileUnknown'
  | 'EngineOutdated'
  | WaitingReason['reason']
  | 'EngineSilent'
  | 'EngineStarting'
  | 'CrashLoop'
  | 'WaitingToRestart'
  | 'EngineAbsent'
  | 'EngineRunning';

/** A resource that exists; the checks below `resourceGone` see no other. */
type Present = Observed & { resource: InstanceResource };
/** A resource with a row; the checks below `notAccepted` see no other. */
type Taken = Present & { known: KnownInstance };

/** How much later than its end a lease is believed to have ended: clocks differ. */
const LEASE_MARGIN_MS = 1000;
const REJECTED_RECHECK_MS = 30_000;
const UNREACHABLE_RECHECK_MS = 10_000;
/** An API that answers is heard that often. */
const MIN_RECHECK_MS = 1000;

/**
 * The first check that finds something decides. The order is the order of safety: what is known of a pod that may
 * still run comes before every wish to start one, so no rule further down can make a second pod.
 */
export function decide(observed: Observed): Decision {
  const { resource, projection } = observed;
  const early = first(POD_CHECKS, observed);
  if (early) return early;
  if (!resource) return found('ResourceGone', 'The resource is gone', stop(observed.pod));
  const present = { ...observed, resource };
  const refused = first(RESOURCE_CHECKS, present);
  if (refused) return refused;
  const known = getKnownInstance(projection);
  if (!known) return notProjected(present);
  return withRejection(observed, decideEngine({ ...present, known }));
}

const POD_CHECKS = [podEnded, podEnding, nodeUnreachable];
const RESOURCE_CHECKS = [formerPod, deleting, notYetHeld, deletedElsewhere, notAccepted];
const ENGINE_CHECKS = [
  suspended,
  banned,
  idle,
  profileUnknown,
  outdated,
  silent,
  starting,
  waitingToRestart,
  absent,
];

function decideEngine(taken: Taken): Decision {
  const decision =
    first(ENGINE_CHECKS, taken) ?? found('EngineRunning', 'The engine runs and holds the number');
  return recheckWithin(decision, untilIdle(taken));
}

function first<T>(checks: ((observed: T) => Decision | null)[], observed: T): Decision | null {
  for (const check of checks) {
    const decision = check(observed);
    if (decision) return decision;
  }
  return null;
}

function found(
  finding: EngineReason,
  message: string,
  actions: Action[] = [],
  recheckMs: number | null = null,
): Decision {
  return { finding, message, actions, recheckMs };
}

function recheckWithin(decision: Decision, ms: number | null): Decision {
  if (ms === null) return decision;
  return { ...decision, recheckMs: Math.min(decision.recheckMs ?? ms, ms) };
}

/** The lease of an engine that has ended is freed before anything else: nobody waits for its time to run out. */
function podEnded({ pod }: Observed): Decision | null {
  if (pod.phase !== 'ended') return null;
  const { name, instanceId } = pod;
  return found('EngineEnded', `The engine ended: ${pod.how}`, [
    { do: 'report-ended', name, instanceId },
    { do: 'delete-pod', name },
  ]);
}

function podEnding(observed: Observed): Decision | null {
  const { pod } = observed;
  if (pod.phase !== 'ending') return null;
  return withoutTheEngine(observed, pod.endingSince) ?? found('EngineEnding', 'The engine is ending');
}

/**
 * A resource is not kept for ever by an engine that does not end: its row goes, so that the engine is refused
 * everything from then on, and once its lease is over the resource goes as well. The pod stays as long as it stays.
 */
function withoutTheEngine(observed: Observed, since: number | null): Decision | null {
  const { resource, now, limits } = observed;
  if (since === null || resource?.metadata.deletionTimestamp === undefined || !hasFinalizer(resource))
    return null;
  const wait = since + limits.stuckMs - now;
  if (wait > 0) return found('EngineEnding', 'The engine is ending', [], wait);
  return removing(observed, 'Letting go of an engine that does not end', { do: 'remove-finalizer' });
}

/**
 * The pod may run: neither may another start, nor may this one be forgotten, until its lease is seen to have ended
 * unrenewed. Then the lease is taken from it, so that nothing it writes is accepted, and only then it is forgotten.
 */
function nodeUnreachable(observed: Observed): Decision | null {
  const { pod, resource } = observed;
  if (pod.phase !== 'unknown') return null;
  const fence: Action[] = [
    { do: 'report-ended', name: pod.name, instanceId: pod.instanceId },
    { do: 'force-delete-pod', name: pod.name },
  ];
  const gone = resource?.metadata.deletionTimestamp !== undefined && hasFinalizer(resource);
  const decision = gone
    ? removing(observed, 'Its lease has ended; forgetting the pod', ...fence)
    : afterItsLease(observed, pod.name, fence);
  const message = `The node of pod ${pod.shownAs} does not answer. ${decision.message}`;
  return { ...recheckWithin(decision, UNREACHABLE_RECHECK_MS), finding: 'NodeUnreachable', message };
}

function afterItsLease({ projection }: Observed, name: string, then: Action[]): Decision {
  const known = getKnownInstance(projection);
  if (!known) return found('NodeUnreachable', 'Waiting for the API to say who holds the number');
  const { pod: holder, expires_at: end } = known.facts.lease;
  const held = holder === name && end !== null && known.observedAt < Date.parse(end) + LEASE_MARGIN_MS;
  if (held) return found('NodeUnreachable', 'Waiting until its lease ends');
  return found('NodeUnreachable', 'Its lease has ended; forgetting the pod', then);
}

/** The row, then the lease of whoever still runs, then the rest. */
function removing({ removal, now }: Observed, message: string, ...then: Action[]): Decision {
  const say = (text: string, ...actions: Action[]) => found('Deleting', text, actions);
  if (!removal.asked) return say('Removing the row', { do: 'remove-row' });
  if (removal.leaseEndsAt === null) return say(message, ...then);
  const wait = removal.leaseEndsAt + LEASE_MARGIN_MS - now;
  if (wait <= 0) return say('Removing the row', { do: 'remove-row' });
  return recheckWithin(say('An engine started elsewhere still holds the number'), wait);
}

function formerPod({ resource, pod }: Present): Decision | null {
  if (pod.phase === 'absent' || pod.uid === resource.metadata.uid) return null;
  return found('FormerPod', 'The engine of a former resource of this name is still there', stop(pod));
}

/** Stop, wait until gone, remove the row, wait for a lease that somebody else holds, let go: in this order. */
function deleting(observed: Present): Decision | null {
  const { resource, pod } = observed;
  if (resource.metadata.deletionTimestamp === undefined) return null;
  if (pod.phase !== 'absent') return found('Deleting', 'Stopping the engine', stop(pod));
  if (!hasFinalizer(resource)) return found('Deleting', 'Waiting for others to let go');
  return removing(observed, 'Letting go', { do: 'remove-finalizer' });
}

/** Before a row or an engine is made, the resource must not be able to vanish unseen. */
function notYetHeld({ resource }: Present): Decision | null {
  if (hasFinalizer(resource)) return null;
  return found('NotYetHeld', 'First sight of the resource', [{ do: 'add-finalizer' }]);
}

/** Deleted through the API, which did not come to deleting the resource as well. */
function deletedElsewhere({ projection, pod }: Present): Decision | null {
  if (projection.kind !== 'rejected' || projection.reason !== 'Deleted') return null;
  return found('DeletedElsewhere', projection.message, [...stop(pod), { do: 'delete-resource' }]);
}

/** A refused change of an instance that has its row takes no number off the air, unless the account is closed to it. */
function notAccepted({ projection, pod }: Present): Decision | null {
  if (projection.kind !== 'rejected') return null;
  if (projection.known && projection.reason !== 'AccountNotAllowed') return null;
  return found('NotAccepted', projection.message, stop(pod), REJECTED_RECHECK_MS);
}

/** Without an answer of the API nothing is started, and nothing that runs is stopped. */
function notProjected({ projection }: Present): Decision {
  const error = projection.kind === 'unknown' ? projection.error : null;
  return found('NotProjected', error ?? 'Waiting for the API to take the resource in');
}

/** What was refused may be accepted later without a change here: a name becomes free, a limit is raised. */
function withRejection({ projection }: Observed, decision: Decision): Decision {
  return projection.kind === 'rejected' ? recheckWithin(decision, REJECTED_RECHECK_MS) : decision;
}

function suspended({ resource, pod }: Taken): Decision | null {
  return resource.spec.suspended ? found('Suspended', 'spec.suspended is true', stop(pod)) : null;
}

/** A ban that ends is waited out by the engine; one that does not end needs none. */
function banned({ known, pod }: Taken): Decision | null {
  if (known.facts.state !== 'banned' || known.facts.banned_until !== null) return null;
  return found('Banned', 'The network blocked the number', stop(pod));
}

function idle(taken: Taken): Decision | null {
  if (untilIdle(taken) !== 0) return null;
  return found('Idle', 'Not paired and no pairing under way; pairing starts the engine', stop(taken.pod));
}

/** An engine that runs is left alone: a profile is not taken away from under a number by mistake. */
function profileUnknown({ resource, pod, template }: Taken): Decision | null {
  if (template || pod.phase !== 'absent') return null;
  const profile = resource.spec.engine?.profile ?? 'default';
  return found('ProfileUnknown', `The operator's configuration has no engine profile ${profile}`);
}

/** What its owner asked for is done at once; an upgrade of engines that work waits for its turn. */
function outdated({ pod, template, projection, turn }: Taken): Decision | null {
  if (pod.phase === 'absent' || !template) return null;
  if (!isSameChoice(pod.template, template))
    return found('EngineOutdated', 'The engine was started with other settings; replacing it', stop(pod));
  if (pod.template.revision === template.revision) return null;
  if (holdsLease(pod, projection) && !turn) return null;
  return found('EngineOutdated', 'The engine is of a former version; replacing it', stop(pod));
}

/** Whether the engine works and is to be replaced all the same, as one of many. */
export function needsUpgradeTurn({ pod, template, projection }: Observed): boolean {
  if (pod.phase === 'absent' || !template || !isSameChoice(pod.template, template)) return false;
  return pod.template.revision !== template.revision && holdsLease(pod, projection);
}

/**
 * The process is there, and for long neither it nor anybody else has held the lease: it hangs, since one that works
 * takes the lease or exits. Only time in which the API was heard counts (leaseFreeSince).
 */
function silent(taken: Taken): Decision | null {
  const silence = silenceOf(taken);
  if (silence === null || silence < taken.limits.silentMs) return null;
  return found('EngineSilent', 'The engine runs and does not take its lease; replacing it', stop(taken.pod));
}

/** For how long the engine has run while nobody held the lease, as of the last observation. */
function silenceOf({ pod, known }: Taken): number | null {
  if (pod.phase !== 'running' || known.leaseFreeSince === null) return null;
  return known.observedAt - Math.max(known.leaseFreeSince, pod.startedAt);
}

function starting(taken: Taken): Decision | null {
  const { pod, projection, limits } = taken;
  if (pod.phase === 'absent' || holdsLease(pod, projection)) return null;
  const trouble = pod.phase === 'starting' ? pod.trouble : null;
  if (trouble) return found(trouble.reason, trouble.message, [], limits.silentMs);
  // The observation that shows the end of the limit comes a little after it.
  const recheckMs = Math.max(limits.silentMs - (silenceOf(taken) ?? 0), MIN_RECHECK_MS);
  return found('EngineStarting', 'The engine does not hold the number yet', [], recheckMs);
}

function waitingToRestart({ now, pod, history }: Taken): Decision | null {
  const wait = history.nextStartAt - now;
  if (pod.phase !== 'absent' || wait <= 0) return null;
  const finding = history.failures >= CRASH_LOOP_FAILURES ? 'CrashLoop' : 'WaitingToRestart';
  const next = new Date(history.nextStartAt).toISOString();
  const message = `The engine ended ${history.failures} times in a row (${history.lastError}); next start at ${next}`;
  return found(finding, message, [], wait);
}

function absent({ pod, known, template }: Taken): Decision | null {
  if (pod.phase !== 'absent' || !template) return null;
  const create: Action = { do: 'create-pod', instanceId: known.facts.id, template };
  return found('EngineAbsent', 'Starting an engine', [create]);
}

function stop(pod: Pod): Action[] {
  return pod.phase === 'absent' ? [] : [{ do: 'delete-pod', name: pod.name }];
}

function hasFinalizer({ metadata }: InstanceResource): boolean {
  return metadata.finalizers?.includes(FINALIZER) ?? false;
}

export function readEngineChoice({ spec }: InstanceResource): Omit<PodTemplate, 'revision'> {
  return { profile: spec.engine?.profile ?? 'default', logLevel: spec.logLevel ?? null };
}

/** Null: never, since it is paired or being paired; 0: it is idle. A new sandbox connects by itself: it is not unpaired. */
function untilIdle({ now, known, limits }: Taken): number | null {
  const { facts, observedAt, pairingSeenAt } = known;
  const unpaired = facts.state === 'pending_pair' || facts.state === 'logged_out';
  if (!unpaired || facts.pairing) return null;
  const idleAt = Math.max(Date.parse(facts.state_changed_at), pairingSeenAt ?? 0) + limits.idleMs;
  if (observedAt >= idleAt) return 0;
  // Never on the word of an older observation: a pairing may have been opened since.
  return Math.max(idleAt - now, MIN_RECHECK_MS);
}
