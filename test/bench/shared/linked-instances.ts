import type { PairingOut } from '@gwk/core/resources/pairing';
import { newCustomer, type Customer } from '../../support/gateway/customer.js';
import { Gateway, type GatewayOptions } from '../../support/gateway/gateway.js';
import { until } from '../../support/wait.js';
import type { NetworkProcess } from '../engine/network.js';
import { PRODUCTION } from './production.js';
import { createInstance } from './instances.js';

const LINKED_AT_ONCE = 8;

/** Instances of one account, each with an engine and linked with a phone of the simulated network. */
export class LinkedInstances {
  readonly ids: string[] = [];

  private constructor(
    readonly gateway: Gateway,
    readonly customer: Customer,
    readonly network: NetworkProcess,
  ) {}

  static async open(network: NetworkProcess, options: GatewayOptions = {}): Promise<LinkedInstances> {
    const { api, worker, operator } = options.settings ?? {};
    const settings = {
      api: { ...PRODUCTION, ...api },
      worker: { ...PRODUCTION, ...worker },
      // The operator passes unknown settings to its engines.
      operator: { ...PRODUCTION, ...network.operatorSettings, ...operator },
    };
    const gateway = await Gateway.start({ ...options, settings });
    try {
      const customer = await newCustomer(gateway, 'bench');
      await gateway.gwk('account', 'limits', 'bench', '--max-instances', '10000');
      return new LinkedInstances(gateway, customer, network);
    } catch (error) {
      await gateway.stop();
      throw error;
    }
  }

  /** Phone number of the `index`th instance. */
  static phoneOf = (index: number): string => `55119${String(10_000_000 + index)}`;

  /** Adds instances until there are this many, each connected. */
  async grow(count: number): Promise<void> {
    let next = this.ids.length;
    const linking = async (): Promise<void> => {
      while (next < count) await this.#link(next++);
    };
    await Promise.all(Array.from({ length: LINKED_AT_ONCE }, linking));
    for (const id of this.ids) await this.customer.client.untilConnected(id);
  }

  enginePids(): number[] {
    return this.gateway.engines().map(({ pid }) => pid);
  }

  async close(): Promise<void> {
    this.customer.close();
    await this.gateway.stop();
  }

  async #link(index: number): Promise<void> {
    const { client } = this.customer;
    const phone = await this.network.client.phone(LinkedInstances.phoneOf(index), {
      name: `Instance ${index}`,
    });
    const id = await createInstance(client, `instance-${index}`, 'web');
    this.ids[index] = id;
    const { qr } = await until(
      async () => {
        const answer = await client.call<PairingOut>('POST', `/v1/instances/${id}/pairing`);
        return answer.status === 200 && answer.body.qr ? answer.body : undefined;
      },
      { what: `instance ${index} shows a code`, everyMs: 250 },
    );
    await phone.scan(qr!.code);
    await client.untilConnected(id);
  }
}
