import { type Logger } from '@gwk/core/log';
import { FINALIZER, type InstanceResource, type InstanceResourceStatus } from '@gwk/core/resources/manifest';
import { PodExists, type Cluster, type InstanceEvent, type Target } from '../cluster/cluster.js';
import { canonicalJson } from '@gwk/core/canonical-json';
import { decide, needsUpgradeTurn, type Action, type Decision } from './decide.js';
import { recordExit, isCrashLoop, NO_HISTORY, type History } from './history.js';
import type { InternalApiClient } from './internal-api-client.js';
import { holdsLease, getKnownInstance, type Limits, type Observed, type ProjectionResult, type Removal } from './observed.js';
import { PairingRequestController } from '../pairing/pairing-request-controller.js';
import { Projections } from './projections.js';
import { RETRY_BACKOFF, WorkQueue, type Backoff } from './queue.js';
import { Rollout } from './rollout.js';
import { ResyncSchedule } from './resync.js';
import { buildStatus, listStatusEvents } from './status.js';

export interface ControllerOptions {
  cluster: Cluster;
  port: InternalApiClient;
  log: Logger;
  limits: Limits;
  /** How often the facts of all instances are asked for. */
  observeMs?: number;
  /** In what time everything is looked at anew, whether or not anything was heard. */
  resyncMs?: number;
  /** Instances worked on at the same time. */
  width?: number;
  /** Engines that work and are replaced at the same time, where their version is a former one. */
  maxConcurrentUpgrades?: number;
  /** Of passes that fail, and of engines that end. */
  backoff?: Backoff;
}

/** With an answer of ten thousand, and a pass, within a second. */
const OBSERVE_MS = 700;
/** While engines are starting, whose first word somebody is waiting for. */
const OBSERVE_STARTING_MS = 250;
const RESYNC_MS = 300_000;
const WIDTH = 16;
const UPGRADE_WIDTH = 1;
const FAREWELL_MS = 2000;

/**
 * One reconcile for all clusters: gather everything about one instance, decide, do, write down what is so. A pass
 * trusts nothing that an earlier one did: whatever fails half-way is found and finished by a later pass.
 *
 * Kept in memory only, and safe to lose: projections (asked again), histories (an operator that starts anew starts
 * every engine anew), and how far removals have come (asked again).
 */
export class Controller {
  readonly queue: WorkQueue;
  readonly projections: Projections;
  readonly rollout: Rollout;
  /** For metrics. */
  onReconcile: (result: 'done' | 'behind' | 'failed') => void = () => undefined;
  onEnd: (asked: boolean) => void = () => undefined;
  readonly #desk: PairingRequestController;
  readonly #options: ControllerOptions;
  readonly #cluster: Cluster;
  readonly #port: InternalApiClient;
  readonly #log: Logger;
  /** By uid, like all that is remembered: a name may be used again by another resource. */
  readonly #histories = new Map<string, History>();
  readonly #removals = new Map<string, Removal>();
  readonly #backoff: Backoff;
  readonly #starting = new Set<string>();
  readonly #rejected = new Set<string>();
  /** Keys that no pass has looked at since the start. */
  #unseen: Set<string> | null = null;
  #observeTimer: NodeJS.Timeout | undefined;
  #resyncTimer: NodeJS.Timeout | undefined;
  #observedAt = -Infinity;
  #stopped = false;
  #unheard = 0;
  #startedAt: number | undefined;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#cluster = options.cluster;
    this.#port = options.port;
    this.#log = options.log;
    this.#backoff = options.backoff ?? RETRY_BACKOFF;
    this.queue = new WorkQueue(this.#backoff);
    this.projections = new Projections(options.port);
    const { cluster, port, log } = options;
    const show: Cluster['publishPairing'] = (target, view) => cluster.publishPairing(target, view);
    this.#desk = new PairingRequestController({ port, log, show });
    this.rollout = new Rollout(options.maxConcurrentUpgrades ?? UPGRADE_WIDTH);
  }

  /** Since the API last answered an observation; since the start where it never did. 0 before: nobody has asked it. */
  get silentMs(): number {
    if (this.#startedAt === undefined) return 0;
    return Date.now() - Math.max(this.projections.answeredAt, this.#startedAt);
  }

  /** Instances whose engine ends each time soon after it is started. */
  get crashLoops(): number {
    const now = Date.now();
    return [...this.#histories.values()].filter((history) => isCrashLoop(history, now)).length;
  }

  async start(): Promise<void> {
    this.#startedAt = Date.now();
    await this.#cluster.start((key) => this.queue.add(key));
    // Stopped while it listed: whoever leads for a moment only begins nothing.
    if (this.#stopped) return;
    this.#unseen = new Set(this.#cluster.keys());
    this.#openRollout();
    this.queue.start(this.#options.width ?? WIDTH, (key) => this.#pass(key));
    for (const key of this.#cluster.keys()) this.queue.add(key);
    this.#resyncForever();
    void this.#observeForever();
  }

  /** Ends the engines that cannot outlive this program, and gives back what they held as far as the API hears. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#observeTimer);
    clearInterval(this.#resyncTimer);
    await this.queue.close();
    await this.#desk.close();
    await this.#cluster.endPods();
    await Promise.all(this.#cluster.keys().map((key) => this.#farewell(key)));
    await this.#cluster.stop();
  }

  /** Without it the next operator says the same, a little later. */
  async #farewell(key: string): Promise<void> {
    const pod = this.#cluster.pod(key);
    if (pod.phase !== 'ended') return;
    try {
      await this.#port.engineEnded(pod.instanceId, pod.name, FAREWELL_MS);
      await this.#cluster.deletePod(pod.name);
    } catch (error) {
      this.#log.info({ pod: pod.name, err: error }, 'the end of an engine could not be reported');
    }
  }

  #resyncForever(): void {
    const rounds = new ResyncSchedule(this.#options.resyncMs ?? RESYNC_MS, () => this.#beginRound());
    const step = (): void => rounds.due(performance.now()).forEach((key) => this.#lookAnew(key));
    step();
    this.#resyncTimer = setInterval(step, rounds.stepMs);
  }

  #beginRound(): string[] {
    const keys = this.#cluster.keys();
    this.#forgetAllBut(new Set(keys.map((key) => this.#cluster.resource(key)?.metadata.uid)));
    return keys;
  }

  #lookAnew(key: string): void {
    const uid = this.#cluster.resource(key)?.metadata.uid;
    if (uid !== undefined) this.projections.expire(uid);
    this.queue.add(key);
  }

  /** Of resources that somebody let go of by force. */
  #forgetAllBut(uids: Set<string | undefined>): void {
    for (const known of [this.#histories, this.#removals]) {
      for (const uid of known.keys()) if (!uids.has(uid)) known.delete(uid);
    }
    this.projections.forgetAllBut(uids);
    this.#desk.leaveAllBut(uids);
  }

  async #observeForever(): Promise<void> {
    if (this.#stopped) return;
    const every = this.#options.observeMs ?? OBSERVE_MS;
    const began = performance.now();
    try {
      await this.#observe(began - this.#observedAt >= every);
    } catch (error) {
      if (this.#unheard++ === 0) this.#sayUnheard(error);
    }
    const calm = every * Math.min(5, 1 + this.#unheard);
    const ms = this.#unheard === 0 && this.#starting.size > 0 ? Math.min(every, OBSERVE_STARTING_MS) : calm;
    if (!this.#stopped) this.#observeTimer = setTimeout(() => void this.#observeForever(), ms);
  }

  /** Between two looks at all only those are asked for that are starting: all would be very many. */
  async #observe(all: boolean): Promise<void> {
    const began = performance.now();
    for (const key of await this.projections.observe(all ? undefined : this.#starting)) this.queue.add(key);
    if (!all) return;
    this.#observedAt = began;
    if (this.#unheard > 0) this.#heardAgain();
    this.#unheard = 0;
  }

  #sayUnheard(error: unknown): void {
    if (this.projections.answeredAt === 0) this.#log.info('waiting for the API');
    else this.#log.warn({ err: error }, 'the API does not answer; nothing is changed');
  }

  /** What waits in a backoff because the API was away need not wait any longer. */
  #heardAgain(): void {
    this.#log.info('the API answers again');
    for (const key of this.#cluster.keys()) if (this.queue.failuresOf(key) > 0) this.queue.add(key);
  }

  async #pass(key: string): Promise<void> {
    try {
      const { observed, behind } = await this.#gather(key);
      const decision = decide(observed);
      this.#tellRollout(key, observed, decision);
      if (decision.finding === 'EngineStarting') this.#starting.add(key);
      else this.#starting.delete(key);
      if (decision.recheckMs !== null) this.queue.addAfter(key, decision.recheckMs);
      const target = targetOf(key, observed);
      if (target) this.#lookForWish(target, observed);
      // A status that cannot be written keeps no engine from being started or stopped.
      const written = target ? this.#writeStatus(target, observed, decision) : Promise.resolve();
      await Promise.allSettled([written]);
      for (const action of decision.actions) await this.#do(action, key, observed);
      await written;
      if (behind) this.queue.retry(key);
      else this.queue.forget(key);
      if (this.#unseen?.delete(key)) this.#openRollout();
      this.onReconcile(behind ? 'behind' : 'done');
    } catch (error) {
      this.onReconcile('failed');
      const inMs = this.queue.retry(key);
      this.#log.warn({ instance: key, inMs, err: error }, 'a pass failed and will be repeated');
    }
  }

  async #gather(key: string): Promise<{ observed: Observed; behind: boolean }> {
    const resource = this.#cluster.resource(key) ?? null;
    const { behind, ...projection } = await this.#project(key, resource);
    if (projection.kind === 'rejected') this.#rejected.add(key);
    else this.#rejected.delete(key);
    const pod = this.#cluster.pod(key);
    const uid = resource?.metadata.uid ?? (pod.phase === 'absent' ? '' : pod.uid);
    // Again: asking the API took time.
    const present = this.#cluster.resource(key) ?? null;
    const observed: Observed = {
      now: Date.now(),
      resource: present,
      pod,
      template: present && this.#cluster.templateFor(present),
      turn: false,
      projection,
      history: this.#histories.get(uid) ?? NO_HISTORY,
      removal: this.#removals.get(uid) ?? { asked: false },
      limits: this.#options.limits,
    };
    if (!needsUpgradeTurn(observed)) return { observed, behind };
    return { observed: { ...observed, turn: this.rollout.ask(key, isConnected(observed)) }, behind };
  }

  #lookForWish(target: Target, { resource, projection }: Observed): void {
    const known = getKnownInstance(projection);
    const closed = projection.kind === 'rejected' && projection.reason === 'AccountNotAllowed';
    if (closed || resource?.metadata.deletionTimestamp !== undefined) this.#desk.leave(target.uid);
    else if (known && resource) this.#desk.look(target, resource, known.facts.id);
  }

  #openRollout(): void {
    if (this.#unseen === null || this.#unseen.size > 0) return;
    this.#unseen = null;
    for (const key of this.rollout.open()) this.queue.add(key);
  }

  #tellRollout(key: string, observed: Observed, decision: Decision): void {
    if (needsUpgradeTurn(observed) && !observed.turn) return;
    for (const next of this.rollout.saw(key, progressOf(observed, decision))) this.queue.add(next);
  }

  async #project(key: string, resource: InstanceResource | null): Promise<ProjectionResult & { behind: boolean }> {
    const held = resource?.metadata.finalizers?.includes(FINALIZER) ?? false;
    if (!resource || !held) return { kind: 'unknown', error: null, behind: false };
    const { uid, deletionTimestamp } = resource.metadata;
    if (deletionTimestamp !== undefined) return { ...this.projections.cached(uid), behind: false };
    const before = this.projections.cached(uid);
    const projected = await this.projections.of(key, resource);
    const moved =
      projected.kind === 'accepted' && before.kind === 'accepted' && before.generation < projected.generation;
    if (moved) this.#askForRejected();
    return projected;
  }

  /** A name or a place may have become free for them. */
  #askForRejected(): void {
    for (const key of this.#rejected) this.queue.add(key);
  }

  async #writeStatus(target: Target, observed: Observed, decision: Decision): Promise<void> {
    const before = observed.resource!.status;
    const status = buildStatus(observed, decision);
    if (sameStatus(before, status)) return;
    await this.#cluster.setStatus(target, status);
    for (const line of listStatusEvents(before, status)) this.#cluster.tell(target, line);
  }

  async #do(action: Action, key: string, observed: Observed): Promise<void> {
    const { pod } = observed;
    const target = targetOf(key, observed) ?? { key, uid: pod.phase === 'absent' ? '' : pod.uid };
    this.#log.debug({ instance: key, action: action.do }, 'reconcile');
    switch (action.do) {
      case 'add-finalizer':
        return this.#cluster.setFinalizers(target, [...finalizersOf(observed), FINALIZER]);
      case 'remove-finalizer':
        return this.#letGo(
          target,
          finalizersOf(observed).filter((name) => name !== FINALIZER),
        );
      case 'create-pod':
        return this.#createPod(target, action);
      case 'delete-pod':
        return this.#cluster.deletePod(action.name);
      case 'force-delete-pod':
        this.#log.warn({ pod: action.name, instance: key }, 'forgetting the pod of a lost node');
        return this.#cluster.forceDeletePod(action.name);
      case 'report-ended':
        return this.#reportEnded(action, observed);
      case 'remove-row':
        return this.#removeRow(target);
      case 'delete-resource':
        return this.#cluster.deleteResource(target);
    }
  }

  async #createPod(target: Target, action: Extract<Action, { do: 'create-pod' }>): Promise<void> {
    const { instanceId, template } = action;
    const name = this.#cluster.newPodName(target, instanceId);
    const token = await this.#port.issueToken(instanceId, name);
    await this.#cluster
      .createPod({ ...target, name, instanceId, template, token })
      .catch((error: unknown) => this.#tellRefused(target, error));
    this.#tell(target, { type: 'Normal', reason: 'EngineCreated', message: `Started engine ${name}` });
  }

  /** A quota, a policy of the cluster, a name that is taken: whoever made the resource should read of it. */
  #tellRefused(target: Target, error: unknown): never {
    const passing = error instanceof PodExists && !error.foreign;
    const message = `The pod could not be made: ${(error as Error).message}`;
    if (!passing) this.#tell(target, { type: 'Warning', reason: 'EngineNotCreated', message });
    throw error;
  }

  /** The API first, then the memory: a report that failed is made again before the pod is forgotten. */
  async #reportEnded(action: Extract<Action, { do: 'report-ended' }>, { pod }: Observed): Promise<void> {
    await this.#port.engineEnded(action.instanceId, action.name);
    if (pod.phase !== 'ended') return;
    const before = this.#histories.get(pod.uid) ?? NO_HISTORY;
    // Reported again by each pass until its pod is forgotten.
    if (before.counted === pod.name) return;
    this.onEnd(pod.asked);
    this.#histories.set(pod.uid, recordExit(before, pod, this.#backoff));
    this.#log.info(
      { pod: pod.name, instance: pod.key, how: pod.how, asked: pod.asked },
      'an engine has ended',
    );
  }

  async #removeRow(target: Target): Promise<void> {
    const leaseEndsAt = await this.#port.remove(target.uid);
    this.#removals.set(target.uid, { asked: true, leaseEndsAt });
    this.queue.add(target.key);
  }

  async #letGo(target: Target, finalizers: string[]): Promise<void> {
    await this.#cluster.setFinalizers(target, finalizers);
    this.#histories.delete(target.uid);
    this.#removals.delete(target.uid);
    this.projections.forget(target.uid);
    this.#askForRejected();
  }

  #tell(target: Target, line: InstanceEvent): void {
    this.#cluster.tell(target, line);
  }
}

function targetOf(key: string, { resource }: Observed): Target | null {
  return resource && { key, uid: resource.metadata.uid };
}

function finalizersOf({ resource }: Observed): string[] {
  return resource?.metadata.finalizers ?? [];
}

/** The order of fields is the cluster's own, and one that is not there is the same as null. */
function sameStatus(a: InstanceResourceStatus | undefined, b: InstanceResourceStatus): boolean {
  return a !== undefined && outline(a) === outline(b);
}

function outline(status: InstanceResourceStatus): string {
  return canonicalJson(JSON.parse(JSON.stringify(status, (_, value: unknown) => value ?? undefined)));
}

const isConnected = ({ projection }: Observed): boolean => getKnownInstance(projection)?.facts.state === 'connected';

const MOVING: readonly Decision['finding'][] = [
  'EngineEnded',
  'EngineEnding',
  'EngineOutdated',
  'EngineSilent',
  'EngineStarting',
  'CrashLoop',
  'WaitingToRestart',
  'EngineAbsent',
  'ImagePullFailed',
  'Unschedulable',
  'ContainerNotStarted',
];

/** What an upgrade has to know of an instance (rollout.ts). */
function progressOf(observed: Observed, { finding }: Decision): Parameters<Rollout['saw']>[1] {
  if (finding === 'EngineRunning' && holdsLease(observed.pod, observed.projection))
    return isConnected(observed) ? 'connected' : 'works';
  // One that ended while it was of a former version begins again as one of the present one.
  return wantsEngine(observed) && MOVING.includes(finding) ? 'moving' : 'settled';
}

const wantsEngine = ({ resource }: Observed): boolean =>
  resource !== null && resource.metadata.deletionTimestamp === undefined && !resource.spec.suspended;
