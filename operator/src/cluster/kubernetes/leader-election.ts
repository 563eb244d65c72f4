import type { Logger } from '@gwk/core/log';
import { setTimeout as sleep } from 'node:timers/promises';
import { isCode, type KubeClient } from './client.js';

export interface LeaderTimes {
  /** So long after it was last seen renewed, a lease may be taken. */
  leaseMs: number;
  /** Who has not renewed for so long leads no more. */
  deadlineMs: number;
  retryMs: number;
}

export interface LeaderElectorOptions {
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

export const LEADER_TIMES: LeaderTimes = { leaseMs: 15_000, deadlineMs: 10_000, retryMs: 2_000 };

/**
 * One of several operators leads, by a Lease of the Kubernetes API. Who leads stops well before another one may
 * begin: it gives up `deadlineMs` after its last renewal, others wait `leaseMs`, both measured by their own monotonic
 * clock from what they saw. Two that lead for a moment all the same (a process that was stopped and goes on) make no
 * second engine: the name of a pod is given once.
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

  /** `lost` is called when it leads no more without having been stopped. */
  start(led: () => void, lost: () => void): void {
    this.#running = this.#run(led, lost);
  }

  /** Another one may lead at once. */
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
    // Apart from the calls: one that hangs must not keep it from noticing.
    let deadline: NodeJS.Timeout | undefined;
    const giveUp = (): void => {
      this.#leading = false;
      this.#stopping.abort();
      lost();
    };
    while (!this.#stopped) {
      // From before the call: the server may have taken it to be that early.
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

  /** Whether the lease is ours now. */
  async #try(): Promise<boolean> {
    try {
      const lease = await this.#read();
      if (!lease) return await this.#create();
      if (!this.#mayTake(lease)) return false;
      await this.#write(lease);
      return true;
    } catch (error) {
      // Somebody else was faster; or nobody answers.
      if (!isCode(error, 409))
        this.#options.log.info({ err: error }, 'the lease of the leader could not be reached');
      return false;
    }
  }

  /** A lease of another is watched, not read: its times are of another clock. */
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
    const spec = this.#mine({});
    await this.#call({ method: 'POST', path: this.#path(), body: { metadata: { namespace, name }, spec } });
    return true;
  }

  async #write(lease: Lease): Promise<void> {
    const path = this.#path(this.#options.name);
    // With its resourceVersion: of two that saw the same lease one is refused.
    const { resourceVersion } = lease.metadata;
    const body = { metadata: { resourceVersion }, spec: this.#mine(lease.spec) };
    await this.#call({ method: 'PATCH', path, type: 'application/merge-patch+json', body });
  }

  #mine(before: LeaseSpec): LeaseSpec {
    const { identity } = this.#options;
    const now = microTime(Date.now());
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
      this.#options.log.info({ err: error }, 'the lease of the leader could not be given back');
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

/** A Lease's times have six digits after the second; with three the API server refuses them. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
