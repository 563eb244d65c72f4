import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { startRedis } from '@gwk/local/servers/redis';
import type { RunningServer } from '@gwk/local/servers/process';
import { GATEWAY } from '../../support/kubernetes/nodes/settings.js';
import { ObjectStore } from '../../support/servers/object-store.js';
import { PostgresPlace } from '../../support/servers/postgres-place.js';

/** Postgres, Redis and a bucket outside of the cluster. They listen on 127.0.0.1, so forwarders lead pods to them. */
export class Stores {
  readonly #forwarders: Server[] = [];

  private constructor(
    readonly postgres: PostgresPlace,
    readonly redis: RunningServer,
    readonly bucket: ObjectStore,
  ) {}

  static async start(folder: string): Promise<Stores> {
    const postgres = new PostgresPlace();
    await postgres.start();
    const [dataDir, logFile] = [join(folder, 'redis-outside'), join(folder, 'redis-outside.log')];
    const redis = await startRedis({ dataDir, logFile, password: 'test', inMemory: true });
    return new Stores(postgres, redis, await ObjectStore.start());
  }

  async stop(): Promise<void> {
    for (const forwarder of this.#forwarders) forwarder.close();
    await this.bucket.stop();
    await this.redis.stop();
    await this.postgres.stop();
  }

  /** The same address, as pods reach it. */
  async forPods(address: string): Promise<string> {
    const url = new URL(address);
    const port = Number(url.port);
    const forwarder = createServer((client) => {
      const server = connect(port, '127.0.0.1');
      // A reset of one side ends the other.
      client.on('error', () => server.destroy());
      server.on('error', () => client.destroy());
      client.pipe(server).pipe(client);
    }).listen(0, GATEWAY);
    this.#forwarders.push(forwarder);
    await once(forwarder, 'listening');
    url.hostname = GATEWAY;
    url.port = String((forwarder.address() as AddressInfo).port);
    return url.href;
  }
}
