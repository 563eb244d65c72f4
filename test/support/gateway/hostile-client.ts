import type { OpenApiDocument } from '@gwk/api/openapi/document';
import type { InstanceOut } from '@gwk/core/resources/instance';
import type { GatewayClient } from './client.js';
import { testPhone } from './traffic.js';
import type { Ids } from '../hostile/described-operations.js';
import type { HostileRequest } from '../hostile/hostile-requests.js';
import { until } from '../wait.js';

/** Account that receives hostile requests, with values to build them from. */
export interface HostileAccount {
  client: GatewayClient;
  instance: InstanceOut;
  endpointId: string;
}

const AT_ONCE = 10;

export class HostileClient {
  readonly #account: HostileAccount;

  private constructor(
    account: HostileAccount,
    readonly document: OpenApiDocument,
    /** Ids of existing resources of the account. */
    readonly ids: Ids,
  ) {
    this.#account = account;
  }

  static async of(account: HostileAccount): Promise<HostileClient> {
    const answer = await fetch(`${account.client.baseUrl}/openapi.json`);
    return new HostileClient(account, (await answer.json()) as OpenApiDocument, await idsOf(account));
  }

  /**
   * Sends requests, several at a time.
   * @throws Error on a 500, a missing response or an undocumented response
   */
  async send(requests: readonly HostileRequest[]): Promise<void> {
    for (let i = 0; i < requests.length; i += AT_ONCE) {
      await Promise.all(requests.slice(i, i + AT_ONCE).map((request) => this.#send(request)));
    }
  }

  /** Checks that a message is still accepted and sent. */
  async staysInGoodHealth(): Promise<void> {
    const { client, instance } = this.#account;
    await client.expect(200, 'PATCH', `/v1/instances/${instance.id}`, { body: { policy: null } });
    await client.untilConnected(instance.id);
    const { id } = await client.acceptedText(instance.id, testPhone(3), 'after all');
    await until(async () => (await client.message(id)).sent_at !== null, { what: 'it leaves' });
  }

  async #send(request: HostileRequest): Promise<void> {
    const { method, path, headers, body } = request;
    const described = JSON.stringify({ ...request, body: body?.toString().slice(0, 2_000) });
    const call = { patient: false, headers, ...(body !== undefined && { body }) };
    const answer = await this.#account.client.call(method, path, call).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}, to ${described}`);
    });
    if (answer.status === 500) throw new Error(`500, to ${described}`);
  }
}

async function idsOf({ client, instance, endpointId }: HostileAccount): Promise<Ids> {
  const message = await client.acceptedText(instance.id, testPhone(1), 'x');
  const event = await until(async () => (await client.events())[0], { what: 'an event' });
  const delivery = await until(async () => (await client.deliveries(endpointId))[0], { what: 'a delivery' });
  return {
    instance_id: instance.id,
    message_id: message.id,
    media_id: `med_${'0'.repeat(32)}`,
    event_id: event.id,
    endpoint_id: endpointId,
    delivery_id: delivery.id,
    phone: testPhone(2),
    chat: testPhone(2),
  };
}
