import { LinkedInstances } from '../shared/linked-instances.js';
import { familySeconds, processorSeconds } from '../shared/processor.js';
import { listPids, type BenchServers } from '../shared/servers.js';
import type { OnNetwork } from '../shared/stage.js';
import { readTotalMemory, readFamilyMemory, sumMemory } from '../shared/usage.js';
import type { Around, Subject } from './subject.js';

/** The gateway: an engine for each number, beside API, worker, operator, Postgres and Redis. */
export class GatewayInstances implements Subject {
  readonly name = 'gwk';
  readonly kind = 'a process for each number';

  readonly servers: BenchServers;
  readonly #numbers: LinkedInstances;

  /** Whoever has opened them closes them. */
  constructor({ servers, numbers }: Pick<OnNetwork, 'servers' | 'numbers'>) {
    this.servers = servers;
    this.#numbers = numbers;
  }

  grow(count: number): Promise<void> {
    return this.#numbers.grow(count);
  }

  phones(): string[] {
    return this.#numbers.ids.map((_, index) => LinkedInstances.phoneOf(index));
  }

  pids(): number[] {
    return this.#numbers.enginePids();
  }

  /** Engines are children of the operator, and not meant. */
  around(): Around {
    const programs = this.#numbers.gateway.programs.flatMap(({ pid }) => pid ?? []);
    const stores = listPids(this.servers.postgres, this.servers.redis);
    return {
      processorSeconds: processorSeconds(programs) + familySeconds(stores),
      memory: sumMemory([readTotalMemory(programs), readFamilyMemory(stores)]),
    };
  }
}
