import { type Logger } from '@gwk/core/process/log';
import type { InstanceResource, InstanceResourceStatus } from '@gwk/core/resources/manifest';
import type { Cluster, Target } from '../cluster/cluster.js';
import { canonicalJson } from '@gwk/core/text/canonical-json';
import {
  decide,
  hasFinalizer,
  isUnpaired,
  needsUpgrade,
  type Action,
  type Decision,
  type PodAction,
} from './decide.js';
import { EngineStarter } from './engine-starter.js';
import { FailureLog } from './failure-log.js';
import { recordExit, isCrashLoop, NO_HISTORY, type History } from './history.js';
import type { InternalApiClient } from './internal-api-client.js';
import {
  getKnownInstance,
  type Limits,
  type Observed,
  type ProjectionResult,
  type Removal,
  type Turn,
} from './observed.js';
import { PairingRequestController } from '../pairing/pairing-request-controller.js';
import { Observer, OUTAGE_MS } from './observer.js';
import { Projections } from './projections.js';
import { RETRY_BACKOFF, WorkQueue, type Backoff, type Cause } from './queue.js';
import { describeProgress, isConnected, isPaused, PAUSED, Rollout } from './rollout.js';
import { buildStatus, listStatusEvents } from './status.js';

export interface ControllerOptions {
  cluster: Cluster;
  api: InternalApiClient;
  log: Logger;
  limits: Limits;
  /** Working engines of an older version that are replaced at the same time. */
  maxConcurrentUpgrades: number;
  /** Key of the instance that is upgraded before all others. */
  canary?: string | null;
  outageMs?: number | undefined;
  /** Backoff of failed reconciles and of engine restarts. */
  backoff?: Backoff;
}

/**
 * Every instance is reconciled once in 300 s, with or without an event. Each second reconciles a part of them, so that
 * a change never waits behind thousands of keys.
 */
const RESYNC_STEPS = 300;
const RESYNC_STEP_MS = 1000;
/** Instances reconciled at the same time. */
const CONCURRENCY = 16;
const FINAL_REPORT_MS = 2000;
/** A resource counts as new for this long: a burst of thousands gets all its engines within minutes. */
const FRESH_MS = 600_000;

/**
 * One reconcile loop for every cluster: gather, decide, act, write the status. A reconcile relies on nothing that an
 * earlier one did, so a later one completes whatever failed half-way.
 *
 * The controller keeps projections, exit histories and removals in memory only. A new operator asks the API again,
 * and restarts crashed engines without backoff.
 */
export class Controller {
  readonly queue: WorkQueue;
  readonly projections: Projections;
  readonly rollout: Rollout;
  readonly observer: Observer;
  /** For metrics. */
  onReconcile: (result: 'done' | 'behind' | 'failed', cause: Cause) => void = () => undefined;
  onEngineExit: (requested: boolean) => void = () => undefined;
  readonly #pairing: PairingRequestController;
  readonly #starter: EngineStarter;
  readonly #options: ControllerOptions;
  readonly #cluster: Cluster;
  readonly #api: InternalApiClient;
  readonly #log: Logger;
  /** Keyed by uid, because a later resource may reuse a name. */
  readonly #histories = new Map<string, History>();
  readonly #removals = new Map<string, Removal>();
  readonly #backoff: Backoff;
  readonly #failures: FailureLog;
  readonly #starting = new Set<string>();
  readonly #rejected = new Set<string>();
  /** Keys of unpaired instances that have an engine. */
  readonly #unpaired = new Set<string>();
  /** Keys not reconciled since the start. */
  #notReconciled: Set<string> | null = null;
  #resyncTimer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#cluster = options.cluster;
    this.#api = options.api;
    this.#log = options.log;
    this.#failures = new FailureLog(options.log);
    this.#backoff = options.backoff ?? RETRY_BACKOFF;
    this.queue = new WorkQueue(this.#backoff, (key) => this.#isFresh(key));
    this.projections = new Projections(options.api);
    this.#starter = new EngineStarter(options.cluster, options.api, this.#backoff);
    const { cluster, api, log } = options;
    const publish: Cluster['publishPairing'] = (target, view) => cluster.publishPairing(target, view);
    const remove: Cluster['removePairingRequest'] = (target, request) =>
      cluster.removePairingRequest(target, request);
    this.#pairing = new PairingRequestController({ api, log, publish, remove });
    this.rollout = new Rollout(options.maxConcurrentUpgrades, options.canary);
    this.observer = new Observer({
      projections: this.projections,
      outageMs: options.outageMs ?? OUTAGE_MS,
      log,
      starting: this.#starting,
      changed: (keys) => keys.forEach((key) => this.queue.add(key, 'facts')),
      outageBegan: () => this.#reconcileAll(),
      outageEnded: (outage) => (outage ? this.#reconcileAll() : this.#retryFailed()),
    });
  }

  /** Number of instances whose engine is crash-looping. */
  get crashLoops(): number {
    const now = Date.now();
    return [...this.#histories.values()].filter((history) => isCrashLoop(history, now)).length;
  }

  async start(): Promise<void> {
    this.observer.startClock();
    await this.#cluster.start((key) => this.queue.add(key, 'event'));
    // Stopped during the initial list: start nothing.
    if (this.#stopped) return;
    this.#notReconciled = new Set(this.#cluster.keys());
    this.#openRollout();
    this.queue.start(CONCURRENCY, (key, cause) => this.#reconcile(key, cause));
    for (const key of this.#cluster.keys()) this.queue.add(key, 'resync');
    this.#startResync();
    this.observer.start();
  }

  /** Stops engines that cannot outlive this process, and releases their leases if the API answers. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.observer.stop();
    clearInterval(this.#resyncTimer);
    await this.queue.close();
    await this.#pairing.close();
    await this.#cluster.endPods();
    await Promise.all(this.#cluster.keys().map((key) => this.#reportFinalExit(key)));
    await this.#cluster.stop();
  }

  /** Optional: otherwise the next operator reports the exit a little later. */
  async #reportFinalExit(key: string): Promise<void> {
    const pod = this.#cluster.pods.find(key);
    if (pod.phase !== 'ended') return;
    try {
      await this.#api.engineEnded(pod.instanceId, pod.name, FINAL_REPORT_MS);
      await this.#cluster.pods.delete(pod.name);
    } catch (error) {
      this.#log.info({ pod: pod.name, err: error }, 'engine exit not reported; the next operator reports it');
    }
  }

  #isFresh(key: string): boolean {
    const { creationTimestamp, deletionTimestamp } = this.#cluster.resource(key)?.metadata ?? {};
    if (creationTimestamp === undefined || deletionTimestamp !== undefined) return false;
    return Date.now() - Date.parse(creationTimestamp) < FRESH_MS;
  }

  #startResync(): void {
    let [step, keys]: [number, string[]] = [0, []];
    this.#resyncTimer = setInterval(() => {
      if (step === 0) keys = this.#startResyncRound();
      for (let at = step; at < keys.length; at += RESYNC_STEPS) this.#resync(keys[at]!);
      step = (step + 1) % RESYNC_STEPS;
    }, RESYNC_STEP_MS);
  }

  #startResyncRound(): string[] {
    const keys = this.#cluster.keys();
    this.#retainOnly(new Set(keys.map((key) => this.#cluster.resource(key)?.metadata.uid)));
    return keys;
  }

  #resync(key: string): void {
    const uid = this.#cluster.resource(key)?.metadata.uid;
    if (uid !== undefined) this.projections.expire(uid);
    this.queue.add(key, 'resync');
  }

  /** Drops the state of resources whose finalizer somebody removed by hand. */
  #retainOnly(uids: Set<string | undefined>): void {
    for (const known of [this.#histories, this.#removals, this.#starter.refusals]) {
      for (const uid of known.keys()) if (!uids.has(uid)) known.delete(uid);
    }
    this.projections.retainOnly(uids);
    this.#pairing.retainOnly(uids);
  }

  /** An outage begins or ends, which concerns every instance. */
  #reconcileAll(): void {
    for (const key of this.#cluster.keys()) this.queue.add(key, 'facts');
  }

  /** Retries the reconciles that failed while the API was unavailable. */
  #retryFailed(): void {
    for (const key of this.#cluster.keys())
      if (this.queue.countFailures(key) > 0) this.queue.add(key, 'retry');
  }

  async #reconcile(key: string, cause: Cause): Promise<void> {
    try {
      const { observed, behind } = await this.#gather(key);
      const decision = decide(observed);
      this.#countUnpaired(key, observed, decision);
      this.#reportProgress(key, observed, decision);
      if (decision.reason === 'EngineStarting') this.#starting.add(key);
      else this.#starting.delete(key);
      if (decision.recheckMs !== null) this.queue.addAfter(key, decision.recheckMs);
      const target = getTarget(key, observed);
      if (target) this.#observePairing(target, observed);
      // A failed status write must not prevent an engine from being started or stopped.
      const written = target ? this.#writeStatus(target, observed, decision) : Promise.resolve();
      await Promise.allSettled([written]);
      for (const action of decision.actions) await this.#do(action, key, observed);
      await written;
      if (behind) this.queue.retry(key);
      else this.queue.forget(key);
      if (this.#notReconciled?.delete(key)) this.#openRollout();
      this.onReconcile(behind ? 'behind' : 'done', cause);
    } catch (error) {
      this.onReconcile('failed', cause);
      const inMs = this.queue.retry(key);
      this.#failures.record(key, inMs, error);
    }
  }

  async #gather(key: string): Promise<{ observed: Observed; behind: boolean }> {
    const resource = this.#cluster.resource(key) ?? null;
    const { behind, ...projection } = await this.#project(key, resource);
    if (projection.kind === 'rejected') this.#rejected.add(key);
    else this.#rejected.delete(key);
    const pod = this.#cluster.pods.find(key);
    const uid = resource?.metadata.uid ?? (pod.phase === 'absent' ? '' : pod.uid);
    // Read it again, because the call to the API took time.
    const present = this.#cluster.resource(key) ?? null;
    const observed: Observed = {
      now: Date.now(),
      resource: present,
      pod,
      template: present && this.#cluster.pods.templateFor(present),
      turn: null,
      refusal: this.#starter.refusals.get(uid) ?? null,
      projection,
      outage: this.observer.outage,
      history: this.#histories.get(uid) ?? NO_HISTORY,
      removal: this.#removals.get(uid) ?? { requested: false },
      unpairedEngines: this.#unpaired.size - Number(this.#unpaired.has(key)),
      limits: this.#options.limits,
    };
    return { observed: { ...observed, turn: this.#requestTurn(key, observed) }, behind };
  }

  /** Counts an engine before it is created, because other reconciles run meanwhile. */
  #countUnpaired(key: string, { pod, projection }: Observed, { actions }: Decision): void {
    const known = getKnownInstance(projection);
    const hasEngine = pod.phase !== 'absent' || actions.some((action) => action.do === 'create-pod');
    if (known && isUnpaired(known.facts) && hasEngine) this.#unpaired.add(key);
    else this.#unpaired.delete(key);
  }

  #requestTurn(key: string, observed: Observed): Turn | null {
    if (!needsUpgrade(observed)) return null;
    const { now, refusal } = observed;
    const isRefused = refusal !== null && refusal.retryAt > now;
    if (isPaused(observed) || isRefused) {
      for (const next of this.rollout.release(key)) this.queue.add(next, 'turn');
      return isPaused(observed)
        ? PAUSED
        : { granted: false, reason: 'UpgradeRefused', message: refusal!.message };
    }
    if (this.rollout.request(key, isConnected(observed))) return { granted: true };
    return { granted: false, ...this.rollout.describeWait(key) };
  }

  #observePairing(target: Target, { resource, projection }: Observed): void {
    const known = getKnownInstance(projection);
    const closed = projection.kind === 'rejected' && projection.reason === 'AccountNotAllowed';
    if (closed || resource?.metadata.deletionTimestamp !== undefined) this.#pairing.cancel(target.uid);
    else if (known && resource) this.#pairing.observe(target, resource, known.facts.id);
  }

  #openRollout(): void {
    if (this.#notReconciled === null || this.#notReconciled.size > 0) return;
    this.#notReconciled = null;
    for (const key of this.rollout.open()) this.queue.add(key, 'turn');
  }

  #reportProgress(key: string, observed: Observed, decision: Decision): void {
    const progress = describeProgress(observed, decision);
    const works = progress === 'connected' && !needsUpgrade(observed);
    for (const next of this.rollout.observeCanary(key, works)) this.queue.add(next, 'turn');
    if (observed.turn?.granted === false) return;
    for (const next of this.rollout.report(key, progress)) this.queue.add(next, 'turn');
  }

  async #project(
    key: string,
    resource: InstanceResource | null,
  ): Promise<ProjectionResult & { behind: boolean }> {
    if (!resource || !hasFinalizer(resource)) return { kind: 'unknown', error: null, behind: false };
    const { uid, deletionTimestamp } = resource.metadata;
    if (deletionTimestamp !== undefined) return { ...this.projections.cached(uid), behind: false };
    const before = this.projections.cached(uid);
    const projected = await this.projections.project(key, resource, this.observer.outage !== null);
    const hasNewGeneration =
      projected.kind === 'accepted' && before.kind === 'accepted' && before.generation < projected.generation;
    if (hasNewGeneration) this.#retryRejected();
    return projected;
  }

  /** A name or a slot may be free now. */
  #retryRejected(): void {
    for (const key of this.#rejected) this.queue.add(key, 'facts');
  }

  async #writeStatus(target: Target, observed: Observed, decision: Decision): Promise<void> {
    const before = observed.resource!.status;
    const status = buildStatus(observed, decision);
    if (sameStatus(before, status)) return;
    await this.#cluster.setStatus(target, status);
    for (const event of listStatusEvents(before, status)) this.#cluster.recordEvent(target, event);
  }

  async #do(action: Action, key: string, observed: Observed): Promise<void> {
    const { pod } = observed;
    const target = getTarget(key, observed) ?? { key, uid: pod.phase === 'absent' ? '' : pod.uid };
    this.#log.debug({ instance: key, action: action.do }, 'reconcile');
    switch (action.do) {
      case 'add-finalizer':
        return this.#cluster.setFinalizer(target, true);
      case 'remove-finalizer':
        return this.#removeFinalizer(target);
      case 'try-pod':
        return this.#starter.check(target, action);
      case 'create-pod':
        return this.#starter.create(target, action);
      case 'report-ended':
        return this.#reportEnded(action, observed);
      case 'remove-row':
        return this.#removeRow(target);
      case 'delete-resource':
        return this.#cluster.deleteResource(target);
      default:
        return this.#changePod(action);
    }
  }

  #changePod({ do: change, name }: PodAction): Promise<void> {
    const { pods } = this.#cluster;
    if (change === 'verify-pod') return pods.verify(name);
    return change === 'delete-pod' ? pods.delete(name) : pods.forceDelete(name);
  }

  /** Report to the API first, then record it: a failed report is repeated before the pod is forgotten. */
  async #reportEnded(action: Extract<Action, { do: 'report-ended' }>, { pod }: Observed): Promise<void> {
    await this.#api.engineEnded(action.instanceId, action.name);
    if (pod.phase !== 'ended') return;
    const before = this.#histories.get(pod.uid) ?? NO_HISTORY;
    // Each reconcile reports it again until the pod is forgotten.
    if (before.counted === pod.name) return;
    this.onEngineExit(pod.requested);
    this.#histories.set(pod.uid, recordExit(before, pod, this.#backoff));
    this.#log.info(
      { pod: pod.name, instance: pod.key, how: pod.how, requested: pod.requested },
      'engine exited',
    );
  }

  async #removeRow(target: Target): Promise<void> {
    const leaseEndsAt = await this.#api.remove(target.uid);
    this.#removals.set(target.uid, { requested: true, leaseEndsAt });
    this.queue.add(target.key, 'facts');
  }

  async #removeFinalizer(target: Target): Promise<void> {
    await this.#cluster.setFinalizer(target, false);
    this.#histories.delete(target.uid);
    this.#removals.delete(target.uid);
    this.#starter.refusals.delete(target.uid);
    this.projections.forget(target.uid);
    this.#retryRejected();
  }
}

function getTarget(key: string, { resource }: Observed): Target | null {
  return resource && { key, uid: resource.metadata.uid };
}

/** Ignores field order, which the cluster decides, and treats a missing field as null. */
function sameStatus(a: InstanceResourceStatus | undefined, b: InstanceResourceStatus): boolean {
  return a !== undefined && outline(a) === outline(b);
}

function outline(status: InstanceResourceStatus): string {
  return canonicalJson(JSON.parse(JSON.stringify(status, (_, value: unknown) => value ?? undefined)));
}
