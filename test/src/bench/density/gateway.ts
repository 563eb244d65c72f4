import { familyOf } from '../shared/family.js';
import type { Numbers } from '../shared/numbers.js';
import type { BenchServers } from '../shared/servers.js';
import type { OnNetwork } from '../shared/stage.js';
import type { Subject } from './subject.js';

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

  pids(): number[] {
    return this.#numbers.enginePids();
  }

  around(): number[] {
    const { gateway } = this.#numbers;
    const stores = [this.servers.postgres, this.servers.redis].flatMap(({ process }) =>
      process?.pid === undefined ? [] : familyOf(process.pid),
    );
    return [...gateway.programs.flatMap(({ pid }) => pid ?? []), ...stores];
  }
}
