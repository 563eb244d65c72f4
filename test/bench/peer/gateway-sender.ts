import { Agent, request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { until } from '../../support/wait.js';
import type { OnNetwork } from '../shared/stage.js';
import { LinkedInstances } from '../shared/linked-instances.js';
import type { Sender } from './sender.js';

/** One instance of a whole gateway. Its requests are not checked against the OpenAPI document, as those of peers. */
export class GatewaySender implements Sender {
  readonly name = 'gwk';
  readonly phone = LinkedInstances.phoneOf(0);
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #url: URL;

  constructor(readonly on: OnNetwork) {
    this.#url = new URL('/v1/messages', on.instances.gateway.urls[0]);
  }

  async send(to: string, text: string): Promise<boolean> {
    const { customer, ids } = this.on.instances;
    const body = JSON.stringify({ instance_id: ids[0], to, type: 'text', text: { body: text } });
    const call = request(this.#url, {
      method: 'POST',
      agent: this.#agent,
      headers: {
        authorization: `Bearer ${customer.key.api_key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    call.end(body);
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    return response.statusCode === 202;
  }

  processes(): Record<string, number | undefined> {
    const { gateway } = this.on.instances;
    const { postgres, redis } = this.on.servers;
    return {
      API: gateway.apis[0]!.pid,
      Postgres: postgres.process?.pid,
      engine: gateway.engines()[0]?.pid,
      Redis: redis.process?.pid,
      worker: gateway.workers[0]!.pid,
    };
  }

  async kill(): Promise<void> {
    const { gateway, customer, ids } = this.on.instances;
    const { pid: old } = await gateway.engine();
    process.kill(old, 'SIGKILL');
    await until(() => gateway.engines().some(({ pid }) => pid !== old), { what: 'another engine runs' });
    await customer.client.untilConnected(ids[0]!);
  }

  stop(): void {
    this.#agent.destroy();
  }
}
