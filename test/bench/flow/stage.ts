import { openDatabase, type Database } from '@gwk/api/database/database';
import { MAX_SANDBOXES } from '@gwk/api/resources/instance';
import { GatewayClient } from '../../support/gateway/client.js';
import { Gateway } from '../../support/gateway/gateway.js';
import type { Environment } from '../../support/program.js';
import { until } from '../../support/wait.js';
import { makeAccount, type BenchAccount } from '../shared/accounts.js';
import { Child } from '../shared/child.js';
import { PRODUCTION } from '../shared/production.js';
import { createInstance } from '../shared/instances.js';
import type { PaceOptions } from '../shared/pace-program.js';
import { startBenchServers, type BenchServers } from '../shared/servers.js';

/** A whole gateway with many sandboxes, each with an engine, and the load. */
export interface Stage {
  servers: BenchServers;
  gateway: Gateway;
  db: Database;
  load: Child;
  stop(): Promise<void>;
}

export interface StageOptions {
  engines: number;
  conversations: number;
  nodeOptions: string;
  engineOptions: string;
}

const START_LIMIT_MS = 300_000;

export async function setStage(options: StageOptions): Promise<Stage> {
  const servers = await startBenchServers();
  const opened: (() => unknown)[] = [() => servers.stop()];
  const stop = async () => {
    for (const close of opened.reverse()) await close();
  };
  try {
    const { stores } = servers;
    const gateway = await Gateway.start({
      stores,
      settings: {
        api: { ...optionsOf(options.nodeOptions), ...PRODUCTION },
        worker: PRODUCTION,
        operator: { ...optionsOf(options.engineOptions), ...PRODUCTION },
      },
    });
    opened.push(() => gateway.stop());
    const db = openDatabase({ url: gateway.settings.databaseUrl, poolSize: 2, program: 'bench' });
    opened.push(() => db.$disconnect());
    const targets = await makeSandboxes(db, gateway, options.engines);
    const count = options.engines * options.conversations;
    const paceOptions: PaceOptions = {
      port: Number(new URL(gateway.urls[0]!).port),
      targets,
      // Phone numbers of the sandbox network that confirm messages.
      phones: { prefix: '4477', first: 10_000_003, count, step: 1, newcomers: count },
      newShare: 0,
    };
    const [load] = await Child.start(new URL('../shared/pace-program.js', import.meta.url), paceOptions);
    opened.push(() => load.stop());
    return { servers, gateway, db, load, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const optionsOf = (options: string): Environment => (options === '' ? {} : { NODE_OPTIONS: options });

/** Creates sandboxes in several accounts, because each account has a limit. */
async function makeSandboxes(db: Database, gateway: Gateway, count: number): Promise<PaceOptions['targets']> {
  const targets: PaceOptions['targets'] = [];
  let account: BenchAccount | undefined;
  for (let index = 0; index < count; index++) {
    if (index % MAX_SANDBOXES === 0) account = await makeAccount(db, `bench-${index}`);
    const client = new GatewayClient(gateway.urls[0]!, account!.apiKey);
    const id = await createInstance(client, `sandbox-${index}`, 'sandbox');
    client.close();
    targets.push({ apiKey: account!.apiKey, instanceId: id });
  }
  await until(async () => (await db.instance.count({ where: { state: 'connected' } })) === count, {
    what: 'all sandboxes are connected',
    timeoutMs: START_LIMIT_MS,
    everyMs: 250,
  });
  return targets;
}
