import type { Logger } from '@gwk/core/log';
import { setTimeout as sleep } from 'node:timers/promises';
import { isCode, type KubeClient } from './client.js';

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

interface LeaseSpec {
  holderIdentity?: string | null;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

interface Lease {
  metadata: { name: string; namespace: string; resourceVersion?: string };
  spec: LeaseSpec;
}

const LEADER_TIMES: LeaderTimes = { leaseMs: 15_000, deadlineMs: 10_000, retryMs: 2_000 };

/**
 * Elects one of several operators as leader, with a Lease of the Kubernetes API. The leader gives up `deadlineMs`
 * after its last renewal, well before others take over after `leaseMs`. Both measure with their own monotonic clock.
 * Two leaders are still possible for a moment (a process that was suspended and resumes). They cannot create two
 * engines, because a pod name exists once.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #times: LeaderTimes;
  readonly #stopping = new AbortController();
  #seen: { record: string; at: number } = { record: '', at: 0 };
  #leading = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: LeaderElectorOptions) {
    this.#options = options;
    this.#times = options.times ?? LEADER_TIMES;
  }

  get leading(): boolean {
    return this.#leading;
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
      const lease = await this.#read();
      if (!lease) return await this.#create();
      if (!this.#mayTake(lease)) return false;
      await this.#write(lease);
      return true;
    } catch (error) {
      // 409: another operator was faster.
      if (!isCode(error, 409)) this.#options.log.info({ err: error }, 'leader lease not readable');
      return false;
    }
  }

  /** Watches a foreign lease for changes instead of reading its times, which come from another clock. */
  #mayTake({ spec }: Lease): boolean {
    if (!spec.holderIdentity || spec.holderIdentity === this.#options.identity) return true;
    const record = JSON.stringify(spec);
    if (record !== this.#seen.record) this.#seen = { record, at: performance.now() };
    const ms = 1000 * (spec.leaseDurationSeconds ?? 0) || this.#times.leaseMs;
    return performance.now() - this.#seen.at > ms;
  }

  async #read(): Promise<Lease | null> {
    try {
      return await this.#call<Lease>({ path: this.#path(this.#options.name) });
    } catch (error) {
      if (isCode(error, 404)) return null;
      throw error;
    }
  }

  async #create(): Promise<boolean> {
    const { namespace, name } = this.#options;
    const spec = this.#buildSpec({});
    await this.#call({ method: 'POST', path: this.#path(), body: { metadata: { namespace, name }, spec } });
    return true;
  }

  async #write(lease: Lease): Promise<void> {
    const path = this.#path(this.#options.name);
    // With the resourceVersion, the server refuses one of two concurrent writers.
    const { resourceVersion } = lease.metadata;
    const body = { metadata: { resourceVersion }, spec: this.#buildSpec(lease.spec) };
    await this.#call({ method: 'PATCH', path, type: 'application/merge-patch+json', body });
  }

  #buildSpec(before: LeaseSpec): LeaseSpec {
    const { identity } = this.#options;
    const now = formatMicroTime(Date.now());
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
      if (!lease || lease.spec.holderIdentity !== this.#options.identity) return;
      const { resourceVersion } = lease.metadata;
      const body = { metadata: { resourceVersion }, spec: { holderIdentity: '', leaseDurationSeconds: 1 } };
      const path = this.#path(this.#options.name);
      await this.#call({ method: 'PATCH', path, type: 'application/merge-patch+json', body });
    } catch (error) {
      this.#options.log.info({ err: error }, 'leader lease not released');
    }
  }

  #call<T>(call: Parameters<KubeClient['call']>[0]): Promise<T> {
    return this.#options.client.call<T>({ ...call, timeoutMs: this.#times.deadlineMs / 2 });
  }

  #path(name?: string): string {
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${this.#options.namespace}/leases`;
    return name === undefined ? leases : `${leases}/${name}`;
  }
}

/** Lease times need six fractional digits: the API server refuses three. */
export function formatMicroTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
