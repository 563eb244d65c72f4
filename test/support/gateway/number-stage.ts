import type { EventOut } from '@gwk/core/resources/event';
import type { InstanceOut } from '@gwk/core/resources/instance';
import type { PairingOut } from '@gwk/core/resources/pairing';
import type { NetworkClient, Person } from '@gwk/network/control/client';
import { MEDIA_CERTIFICATE } from '@gwk/network/media/certificate';
import { startNetwork, type RunningNetwork } from '@gwk/network/start';
import { newCustomer, type Customer } from './customer.js';
import { Gateway, type GatewayOptions } from './gateway.js';
import { until } from '../wait.js';

/** A number on the real protocol, through real processes: its engine speaks to the simulated network. */
export interface NumberStage {
  running: RunningNetwork;
  network: NetworkClient;
  gateway: Gateway;
  customer: Customer;
  phone: Person;
  ana: Person;
  /** Of the instance. */
  id: string;
  stateIs: (state: string) => Promise<unknown>;
  /** Of the instance, newest first. */
  eventsOf: (type: string) => Promise<EventOut[]>;
  /** Has the phone read the code that the API shows. */
  pair: () => Promise<PairingOut>;
  close: () => Promise<void>;
}

export async function openNumber(
  name: string,
  settings: NonNullable<GatewayOptions['settings']> = {},
): Promise<NumberStage> {
  const running = await startNetwork();
  const { client: network } = running;
  const operator = {
    GWK_OPERATOR_NETWORK_URL: running.url,
    GWK_OPERATOR_NETWORK_ROOT: running.root.toString('hex'),
    GWK_OPERATOR_NETWORK_CA: MEDIA_CERTIFICATE.cert,
    ...settings.operator,
  };
  const gateway = await Gateway.start({ settings: { ...settings, operator } });
  const customer = await newCustomer(gateway, name);
  const { client } = customer;
  const phone = await network.phone('5511900000001', { name: 'Shop' });
  const ana = await network.contact('5511900000002', { name: 'Ana' });
  const { id }: InstanceOut = await client.createInstance('shop', 'web');
  const stateIs = (state: string) =>
    until(async () => (await client.instance(id)).state === state, { what: `it is ${state}` });
  return {
    running,
    network,
    gateway,
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
    close: async () => {
      customer.close();
      await gateway.stop();
      await running.close();
    },
  };
}
