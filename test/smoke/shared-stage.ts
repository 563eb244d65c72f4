import { randomBytes } from 'node:crypto';
import type { InstanceOut } from '@gwk/api/resources/instance';
import { newCustomer, type Customer, type CustomerOptions } from '../support/gateway/customer.js';
import type { Network } from '../support/gateway/network.js';
import type { Receiver } from '../support/gateway/receiver.js';
import { SharedGateway } from './shared-gateway.js';

/**
 * An account on the shared gateway with one connected sandbox, and one webhook endpoint that receives all events.
 */
export interface SharedStage {
  gateway: SharedGateway;
  network: Network;
  receiver: Receiver;
  /** Path of the endpoint. */
  path: string;
  customer: Customer;
  instance: InstanceOut;
  endpointId: string;
}

/** Creates an account for one test file. */
export function joinGateway(
  gateway: SharedGateway,
  name: string,
  options?: CustomerOptions,
): Promise<Customer> {
  return newCustomer(gateway, `${name} ${randomBytes(4).toString('hex')}`, options);
}

export async function openSharedStage(name: string, options?: CustomerOptions): Promise<SharedStage> {
  const gateway = SharedGateway.get();
  const { network, receiver } = gateway;
  const customer = await joinGateway(gateway, name, options);
  const { client, account } = customer;
  const path = `/${account.id}`;
  const endpoint = await client.createWebhook(receiver.url(path));
  await receiver.setSecret(path, endpoint.secret!);
  const instance = await client.connectedInstance(name);
  return { gateway, network, receiver, path, customer, instance, endpointId: endpoint.id };
}
