import { Numbers } from '../shared/numbers.js';
import { familySeconds, processorSeconds } from '../shared/processor.js';
import { pidsOf, type BenchServers } from '../shared/servers.js';
import type { OnNetwork } from '../shared/stage.js';
import { memoryOfAll, memoryOfFamilies, sumOf } from '../shared/usage.js';
import type { Around, Subject } from './subject.js';

/** The gateway: an engine for each number, beside API, worker, operator, Postgres and Redis. */
export class GatewayNumbers implements Subject {
  readonly name = 'gwk';
  readonly kind = 'a process for each number';

  readonly servers: BenchServers;
  readonly #numbers: Numbers;

  /** Whoever has opened them closes them. */
  constructor({ servers, numbers }: Pick<OnNetwork, 'servers' | 'numbers'>) {
    this.servers = servers;
    this.#numbers = numbers;
  }

  grow(count: number): Promise<void> {
    return this.#numbers.grow(count);
  }

  phones(): string[] {
    return this.#numbers.ids.map((_, index) => Numbers.phoneOf(index));
  }

  pids(): number[] {
    return this.#numbers.enginePids();
  }

  /** Engines are children of the operator, and not meant. */
  around(): Around {
    const programs = this.#numbers.gateway.programs.flatMap(({ pid }) => pid ?? []);
    const stores = pidsOf(this.servers.postgres, this.servers.redis);
    return {
      processorSeconds: processorSeconds(programs) + familySeconds(stores),
      memory: sumOf([memoryOfAll(programs), memoryOfFamilies(stores)]),
    };
  }
}
