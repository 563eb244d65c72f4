import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { MediaOut } from '@gwk/core/resources/media';
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

export async function uploadFile(
  { urls }: Pick<SharedGateway, 'urls'>,
  { key }: Customer,
  path: string,
): Promise<MediaOut> {
  const form = new FormData();
  form.append('file', new Blob([readFileSync(path)]), basename(path));
  const answer = await fetch(`${urls[0]}/v1/media`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.api_key}` },
    body: form,
  });
  expect(answer.status).toBe(201);
  return (await answer.json()) as MediaOut;
}
