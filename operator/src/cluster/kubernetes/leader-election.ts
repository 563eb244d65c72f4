import { CoordinationV1Api, V1MicroTime, type V1Lease, type V1LeaseSpec } from '@kubernetes/client-node';
import type { Logger } from '@gwk/core/process/log';
import { setTimeout as sleep } from 'node:timers/promises';
import { isCode, orNull, PATCH, type KubeClient } from '@gwk/core/kubernetes/client';

export interface LeaderTimes {
  /** A lease may be taken this long after its last observed renewal. */
  leaseMs: number;
  /** The leader gives up when it has not renewed for this long. */
  deadlineMs: number;
  retryMs: number;
}

interface LeaderElectorOptions {
  client: KubeClient;
  namespace: string;
  name: string;
  identity: string;
  log: Logger;
  times?: LeaderTimes;
}

const LEADER_TIMES: LeaderTimes = { leaseMs: 15_000, deadlineMs: 10_000, retryMs: 2_000 };

/** After five failures (8 s or more) the fault is probably lasting: a missing right or an outage. */
const FAULTY_AFTER = 5;

/**
 * Elects one of several operators as leader, with a Lease of the Kubernetes API. The leader gives up `deadlineMs`
 * after its last renewal, well before others take over after `leaseMs`. Both measure with their own monotonic clock.
 * Two leaders are still possible for a moment (a process that was suspended and resumes). They cannot create two
 * engines, because a pod name exists once.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #times: LeaderTimes;
  readonly #leases: CoordinationV1Api;
  readonly #stopping = new AbortController();
  #seen: { record: string; at: number } = { record: '', at: 0 };
  #leading = false;
  /** Consecutive calls that the Kubernetes API refused or did not answer. */
  #failures = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(options: LeaderElectorOptions) {
    this.#options = options;
    this.#times = options.times ?? LEADER_TIMES;
    this.#leases = options.client.makeApiClient(CoordinationV1Api, this.#times.deadlineMs / 2);
  }

  get leading(): boolean {
    return this.#leading;
  }

  /** Why this operator can neither lead nor stand by; null: it can. */
  get fault(): string | null {
    return this.#failures < FAULTY_AFTER ? null : 'the leader lease cannot be read or written';
  }

  /** Calls `lost` when leadership ends without a call of `stop`. */
  start(led: () => void, lost: () => void): void {
    this.#running = this.#run(led, lost);
  }

  /** Releases the lease, so that another operator leads at once. */
  async stop(): Promise<void> {
    const led = this.#leading;
    this.#stopping.abort();
    await this.#running;
    this.#leading = false;
    if (led) await this.#release();
  }

  get #stopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #run(led: () => void, lost: () => void): Promise<void> {
    // A timer independent of the calls, so that a hanging call does not delay it.
    let deadline: NodeJS.Timeout | undefined;
    const giveUp = (): void => {
      this.#leading = false;
      this.#stopping.abort();
      lost();
    };
    while (!this.#stopped) {
      // Measure from before the call, because the server may have applied it that early.
      const at = performance.now();
      const held = await this.#try();
      if (held && !this.#stopped) {
        clearTimeout(deadline);
        deadline = setTimeout(giveUp, this.#times.deadlineMs - (performance.now() - at));
        if (!this.#leading) led();
        this.#leading = true;
      }
      const wait = this.#times.retryMs * (this.#leading ? 1 : 1 + Math.random() / 5);
      await sleep(wait, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
    clearTimeout(deadline);
  }

  /** Returns whether this operator holds the lease now. */
  async #try(): Promise<boolean> {
    try {
      const held = await this.#take();
      this.#recordAnswer();
      return held;
    } catch (error) {
      // 409: another operator was faster.
      if (isCode(error, 409)) this.#recordAnswer();
      else if (++this.#failures === FAULTY_AFTER)
        this.#options.log.warn({ err: error }, 'no access to the leader lease');
      return false;
    }
  }

  async #take(): Promise<boolean> {
    const lease = await this.#read();
    if (!lease) return this.#create();
    if (!this.#mayTake(lease)) return false;
    await this.#write(lease, this.#buildSpec(lease.spec ?? {}));
    return true;
  }

  #recordAnswer(): void {
    if (this.#failures >= FAULTY_AFTER) this.#options.log.info('access to the leader lease again');
    this.#failures = 0;
  }

  /** Watches a foreign lease for changes instead of reading its times, which come from another clock. */
  #mayTake({ spec = {} }: V1Lease): boolean {
    if (!spec.holderIdentity || spec.holderIdentity === this.#options.identity) return true;
    const record = JSON.stringify(spec);
    if (record !== this.#seen.record) this.#seen = { record, at: performance.now() };
    const ms = 1000 * (spec.leaseDurationSeconds ?? 0) || this.#times.leaseMs;
    return performance.now() - this.#seen.at > ms;
  }

  #read(): Promise<V1Lease | null> {
    const { namespace, name } = this.#options;
    return orNull(this.#leases.readNamespacedLease({ namespace, name }));
  }

  async #create(): Promise<boolean> {
    const { namespace, name } = this.#options;
    const body = { metadata: { namespace, name }, spec: this.#buildSpec({}) };
    await this.#leases.createNamespacedLease({ namespace, body });
    return true;
  }

  /** With the resourceVersion, the server refuses one of two concurrent writers. */
  async #write({ metadata }: V1Lease, spec: V1LeaseSpec): Promise<void> {
    const { namespace, name } = this.#options;
    const body = { metadata: { resourceVersion: metadata?.resourceVersion }, spec };
    await this.#leases.patchNamespacedLease({ namespace, name, body }, PATCH.merge);
  }

  #buildSpec(before: V1LeaseSpec): V1LeaseSpec {
    const { identity } = this.#options;
    const now = new V1MicroTime();
    const kept = before.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(this.#times.leaseMs / 1000),
      renewTime: now,
      acquireTime: kept ? (before.acquireTime ?? now) : now,
      leaseTransitions: (before.leaseTransitions ?? 0) + (kept || !before.holderIdentity ? 0 : 1),
    };
  }

  async #release(): Promise<void> {
    try {
      const lease = await this.#read();
      if (lease?.spec?.holderIdentity !== this.#options.identity) return;
      await this.#write(lease, { holderIdentity: '', leaseDurationSeconds: 1 });
    } catch (error) {
      this.#options.log.info({ err: error }, 'leader lease not released');
    }
  }
}
