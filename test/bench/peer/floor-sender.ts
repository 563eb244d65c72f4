import { Agent, request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { ENGINE_ENVIRONMENT } from '@gwk/core/engine-environment';
import type { NetworkProcess } from '../engine/network.js';
import { Child } from '../shared/child.js';
import type { BenchServers } from '../shared/servers.js';
import { startAcceptFloor, type Subject } from '../accept/stage.js';
import type { FloorEngineOptions } from './floor-program.js';
import type { Sender } from './sender.js';

const PROGRAM = new URL('./floor-program.js', import.meta.url);
const INSTANCE = 'floor';
const NUMBER = '5511950000002';

/**
 * The least that keeps the promises of gwk: the floor of `bench-accept`, and an engine that writes to Postgres itself.
 * Nothing reads what they store, so the floor is not killed.
 */
export class FloorSender implements Sender {
  readonly name = 'floor';
  readonly phone = NUMBER;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  private constructor(
    readonly servers: BenchServers,
    readonly accept: Subject,
    readonly engine: Child,
  ) {}

  static async start({ whereabouts }: NetworkProcess, servers: BenchServers): Promise<FloorSender> {
    const stores = { databaseUrl: servers.postgres.url, redisUrl: servers.redis.url };
    const accept = await startAcceptFloor(servers.folder, stores);
    const options: FloorEngineOptions = {
      ...{ whereabouts, number: NUMBER, ...stores },
      stream: `floor:${INSTANCE}`,
    };
    const [engine] = await Child.start(PROGRAM, options, [ENGINE_ENVIRONMENT.NODE_OPTIONS]);
    return new FloorSender(servers, accept, engine);
  }

  async send(to: string, text: string): Promise<boolean> {
    const body = JSON.stringify({ instance_id: INSTANCE, to, type: 'text', text: { body: text } });
    const call = request({
      ...{ host: '127.0.0.1', port: this.accept.port, method: 'POST', agent: this.#agent },
      headers: { 'idempotency-key': randomUUID(), 'content-length': Buffer.byteLength(body) },
    });
    call.end(body);
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    return response.statusCode === 202;
  }

  processes(): Record<string, number | undefined> {
    return {
      API: this.accept.program.pid,
      Postgres: this.servers.postgres.process?.pid,
      engine: this.engine.pid,
      Redis: this.servers.redis.process?.pid,
    };
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    await this.engine.stop();
    await this.accept.program.stop();
  }
}
