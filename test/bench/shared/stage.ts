import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase, type Database } from '@gwk/api/database/database';
import type { GatewayOptions } from '../../support/gateway/gateway.js';
import { NetworkProcess } from '../engine/network.js';
import { LinkedInstances } from './linked-instances.js';
import { startBenchServers, type BenchServers } from './servers.js';

/** A whole gateway on the simulated network, with its own stores. */
export interface OnNetwork {
  network: NetworkProcess;
  servers: BenchServers;
  instances: LinkedInstances;
  db: Database;
}

/** Runs a benchmark and closes its resources in reverse order, also after an error. */
export async function onStage<T>(work: (stage: BenchStage) => Promise<T>): Promise<T> {
  const stage = new BenchStage();
  try {
    return await work(stage);
  } finally {
    await stage.close();
  }
}

/** The same, with a gateway on the simulated network. */
export function onNetwork<T>(
  work: (opened: OnNetwork) => Promise<T>,
  settings: GatewayOptions['settings'] = {},
): Promise<T> {
  return onStage(async (stage) => work(await stage.instances(await stage.network(), settings)));
}

export class BenchStage {
  readonly #opened: (() => unknown)[] = [];

  /** @param undo closes the resource */
  closing<T>(opened: T, undo: (opened: T) => unknown): T {
    this.#opened.push(() => undo(opened));
    return opened;
  }

  async network(): Promise<NetworkProcess> {
    const folder = this.closing(mkdtempSync(join(tmpdir(), 'gwk-bench-')), (path) =>
      rmSync(path, { recursive: true, force: true }),
    );
    return this.closing(await NetworkProcess.start(folder), (network) => network.stop());
  }

  async servers(): Promise<BenchServers> {
    return this.closing(await startBenchServers(), (servers) => servers.stop());
  }

  async instances(network: NetworkProcess, settings: GatewayOptions['settings'] = {}): Promise<OnNetwork> {
    const servers = await this.servers();
    const instances = this.closing(
      await LinkedInstances.open(network, { stores: servers.stores, settings }),
      (all) => all.close(),
    );
    const url = instances.gateway.settings.databaseUrl;
    const db = this.closing(openDatabase({ url, poolSize: 2, program: 'bench' }), (open) =>
      open.$disconnect(),
    );
    return { network, servers, instances, db };
  }

  async close(): Promise<void> {
    for (const undo of this.#opened.reverse()) await undo();
  }
}
