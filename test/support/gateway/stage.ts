import type { InstanceOut } from '@gwk/api/resources/instance';
import { newCustomer, type Customer } from './customer.js';
import { Gateway, type GatewayOptions } from './gateway.js';
import { Receiver } from './receiver.js';
import type { TrafficSources } from './check-traffic.js';

/** Gateway with one customer, one connected sandbox, and one endpoint for all events. */
export interface Stage {
  gateway: Gateway;
  customer: Customer;
  receiver: Receiver;
  instance: InstanceOut;
  endpointId: string;
  witnesses: TrafficSources;
  /** Stops everything. @throws Error if a process was left behind */
  close(): Promise<void>;
}

const PATH = '/all';

export async function openStage(name: string, options: GatewayOptions = {}): Promise<Stage> {
  const receiver = await Receiver.start();
  let gateway: Gateway | undefined;
  let customer: Customer | undefined;
  const close = async () => {
    customer?.close();
    await Promise.all([gateway?.stop(), receiver.stop()]);
  };
  try {
    gateway = await Gateway.start(options);
    customer = await newCustomer(gateway, name);
    const { client } = customer;
    const endpoint = await client.createWebhook(receiver.url(PATH));
    await receiver.setSecret(PATH, endpoint.secret!);
    const instance = await client.connectedInstance(name);
    const { network } = gateway;
    const endpointId = endpoint.id;
    const witnesses = { client, instanceId: instance.id, network, receiver, endpointId, path: PATH };
    return { gateway, customer, receiver, instance, endpointId, witnesses, close };
  } catch (error) {
    await close();
    throw error;
  }
}
