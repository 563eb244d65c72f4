import { randomInt } from 'node:crypto';
import type { EventOut } from '@gwk/api/resources/event';
import type { InstanceOut } from '@gwk/api/resources/instance';
import type { PairingOut } from '@gwk/core/resources/pairing';
import type { NetworkClient, Person } from '@gwk/network/control/client';
import type { Customer } from '../support/gateway/customer.js';
import { SharedGateway } from './shared-gateway.js';
import { joinGateway } from './shared-stage.js';
import { until } from '../support/wait.js';

/** An instance of the shared gateway on the real protocol. Its engine connects to the simulated network. */
export interface NumberStage {
  gateway: SharedGateway;
  network: NetworkClient;
  customer: Customer;
  phone: Person;
  ana: Person;
  /** Id of the instance. */
  id: string;
  stateIs: (state: string) => Promise<unknown>;
  /** Events of the instance, newest first. */
  eventsOf: (type: string) => Promise<EventOut[]>;
  /** Lets the phone scan the code from the API. */
  pair: () => Promise<PairingOut>;
}

export async function openNumber(name: string): Promise<NumberStage> {
  const gateway = SharedGateway.get();
  const { numbers: network } = gateway;
  const customer = await joinGateway(gateway, name);
  const { client } = customer;
  const phone = await network.phone(newNumber(), { name: 'Shop' });
  const ana = await network.contact(newNumber(), { name: 'Ana' });
  const { id }: InstanceOut = await client.createInstance('shop', 'web');
  const stateIs = (state: string) =>
    until(async () => (await client.instance(id)).state === state, { what: `the instance is ${state}` });
  return {
    gateway,
    network,
    customer,
    phone,
    ana,
    id,
    stateIs,
    eventsOf: (type) => client.events({ instance_id: id, type }),
    pair: async () => {
      const shown = await client.expect<PairingOut>(200, 'POST', `/v1/instances/${id}/pairing`);
      await phone.scan(shown.qr!.code);
      await stateIs('connected');
      return shown;
    },
  };
}

/** An unused phone number. All test files share one network. */
export const newNumber = (): string => `55119${randomInt(10_000_000, 100_000_000)}`;
