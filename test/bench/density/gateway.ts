import { LinkedInstances } from '../shared/linked-instances.js';
import { familySeconds, processorSeconds } from '../shared/processor.js';
import { listPids, type BenchServers } from '../shared/servers.js';
import type { OnNetwork } from '../shared/stage.js';
import { readTotalMemory, readFamilyMemory, sumMemory } from '../shared/usage.js';
import type { Around, Subject } from './subject.js';

/** The gateway: one engine per instance, beside API, worker, operator, Postgres and Redis. */
export class GatewayInstances implements Subject {
  readonly name = 'gwk';
  readonly kind = 'one process per phone number';

  readonly servers: BenchServers;
  readonly #instances: LinkedInstances;

  /** The caller closes both. */
  constructor({ servers, instances }: Pick<OnNetwork, 'servers' | 'instances'>) {
    this.servers = servers;
    this.#instances = instances;
  }

  grow(count: number): Promise<void> {
    return this.#instances.grow(count);
  }

  phones(): string[] {
    return this.#instances.ids.map((_, index) => LinkedInstances.phoneOf(index));
  }

  pids(): number[] {
    return this.#instances.enginePids();
  }

  /** Engines are children of the operator and are not counted here. */
  around(): Around {
    const programs = this.#instances.gateway.programs.flatMap(({ pid }) => pid ?? []);
    const stores = listPids(this.servers.postgres, this.servers.redis);
    return {
      processorSeconds: processorSeconds(programs) + familySeconds(stores),
      memory: sumMemory([readTotalMemory(programs), readFamilyMemory(stores)]),
    };
  }
}
