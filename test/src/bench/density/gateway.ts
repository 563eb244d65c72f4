import { Numbers } from '../shared/numbers.js';
import { startBenchServers, type BenchServers } from '../shared/servers.js';
import type { NetworkProcess } from '../engine/network.js';
import { familyOf } from '../shared/family.js';
import type { Subject } from './subject.js';

/** The gateway: an engine for each number, beside API, worker, operator, Postgres and Redis. */
export class GatewayNumbers implements Subject {
  readonly name = 'gwk';
  readonly kind = 'a process for each number';

  private constructor(
    readonly servers: BenchServers,
    readonly numbers: Numbers,
  ) {}

  static async open(network: NetworkProcess): Promise<GatewayNumbers> {
    const servers = await startBenchServers();
    try {
      return new GatewayNumbers(servers, await Numbers.open(network, { stores: servers.stores }));
    } catch (error) {
      await servers.stop();
      throw error;
    }
  }

  grow(count: number): Promise<void> {
    return this.numbers.grow(count);
  }

  pids(): number[] {
    return this.numbers.enginePids();
  }

  around(): number[] {
    const { gateway } = this.numbers;
    const stores = [this.servers.postgres, this.servers.redis].flatMap(({ process }) =>
      process?.pid === undefined ? [] : familyOf(process.pid),
    );
    return [...gateway.programs.flatMap(({ pid }) => pid ?? []), ...stores];
  }

  async stop(): Promise<void> {
    await this.numbers.close();
    await this.servers.stop();
  }
}
