import { PodExists, type Cluster, type Target } from '../cluster/cluster.js';
import type { Action } from './decide.js';
import type { InternalApiClient } from './internal-api-client.js';
import type { Refusal } from './observed.js';
import { backoffMs, type Backoff } from './queue.js';

/** Creates the pods of engines, and remembers why the cluster refused one. */
export class EngineStarter {
  /** By uid of the resource, until the cluster accepts a pod. */
  readonly refusals = new Map<string, Refusal>();

  constructor(
    private readonly cluster: Cluster,
    private readonly api: InternalApiClient,
    private readonly backoff: Backoff,
  ) {}

  /** Throws if the cluster refuses the pod, so that the engine that it would replace stays. */
  async check(target: Target, { instanceId, template }: Extract<Action, { do: 'try-pod' }>): Promise<void> {
    const name = this.cluster.pods.newName(target, instanceId);
    await this.cluster.pods
      .check({ ...target, name, instanceId, template })
      .catch((error: unknown) => this.#recordRefusal(target, name, error));
    this.refusals.delete(target.uid);
  }

  async create(
    target: Target,
    { instanceId, template }: Extract<Action, { do: 'create-pod' }>,
  ): Promise<void> {
    const name = this.cluster.pods.newName(target, instanceId);
    const token = await this.api.issueToken(instanceId, name);
    await this.cluster.pods
      .create({ ...target, name, instanceId, template, token })
      .catch((error: unknown) => this.#recordRefusal(target, name, error));
    this.refusals.delete(target.uid);
    this.cluster.recordEvent(target, {
      type: 'Normal',
      reason: 'EngineCreated',
      message: `Started engine ${name}`,
    });
  }

  /** A quota, an admission policy or a name conflict: the owner of the resource needs to see the reason. */
  #recordRefusal(target: Target, name: string, error: unknown): never {
    const isTransient = error instanceof PodExists && !error.foreign;
    // The name is another one at each attempt. The reason must not change with it, because each change is written.
    const message = `Pod not created: ${(error as Error).message.replaceAll(name, target.key)}`;
    if (!isTransient) {
      const count = (this.refusals.get(target.uid)?.count ?? 0) + 1;
      this.refusals.set(target.uid, { message, count, retryAt: Date.now() + backoffMs(count, this.backoff) });
      this.cluster.recordEvent(target, { type: 'Warning', reason: 'EngineNotCreated', message });
    }
    throw error;
  }
}
