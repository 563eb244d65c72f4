import { MEDIA_CERTIFICATE } from '@gwk/network/media/certificate';
import type { NetworkClient, Person } from '@gwk/network/control/client';
import { startNetwork, type RunningNetwork } from '@gwk/network/start';
import type { InstanceOut } from '@gwk/api/resources/instance';
import type { PairingOut } from '@gwk/core/resources/pairing';
import { newCustomer, type Customer } from '../gateway/customer.js';
import { Gateway, type GatewayOptions } from '../gateway/gateway.js';
import type { Environment } from '../program.js';
import { testPhone } from '../gateway/traffic.js';
import { until } from '../wait.js';

/** A whole gateway with one instance that is connected to the simulated network, and people to write with. */
export interface InstanceStage {
  gateway: Gateway;
  customer: Customer;
  running: RunningNetwork;
  network: NetworkClient;
  /** Phone of the instance. */
  phone: Person;
  contacts: Person[];
  groups: Group[];
  /** `ins_...` */
  id: string;
  untilState(state: InstanceOut['state']): Promise<unknown>;
  /** Stops everything. @throws Error if a process was left behind */
  close(): Promise<void>;
}

export interface Group {
  jid: string;
  members: Person[];
}

export interface InstanceStageOptions {
  contacts?: number;
  groups?: number;
  gateway?: GatewayOptions;
  /** Number of stanzas and messages that the network records. */
  keep?: number;
}

const MEMBERS = 3;

export async function openInstanceStage(
  name: string,
  options: InstanceStageOptions = {},
): Promise<InstanceStage> {
  const running = await startNetwork(options.keep === undefined ? {} : { keep: options.keep });
  let gateway: Gateway | undefined;
  let customer: Customer | undefined;
  const close = async () => {
    customer?.close();
    await gateway?.stop();
    await running.close();
  };
  try {
    gateway = await Gateway.start(withNetwork(options.gateway ?? {}, running));
    customer = await newCustomer(gateway, name);
    const { client: network } = running;
    const people = await peopleOf(network, options);
    const id = await pairedNumber(customer, name, people.phone);
    const untilState = (state: InstanceOut['state']) => stateIs(customer!, id, state);
    return { gateway, customer, running, network, ...people, id, untilState, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Settings with which engines find and trust the simulated network. */
export function networkEnvironment(running: RunningNetwork, part: 'OPERATOR' | 'ENGINE'): Environment {
  return {
    [`GWK_${part}_NETWORK_URL`]: running.url,
    [`GWK_${part}_NETWORK_ROOT`]: running.root.toString('hex'),
    [`GWK_${part}_NETWORK_CA`]: MEDIA_CERTIFICATE.cert,
  };
}

function withNetwork(options: GatewayOptions, running: RunningNetwork): GatewayOptions {
  const { settings = {} } = options;
  const operator = { ...networkEnvironment(running, 'OPERATOR'), ...settings.operator };
  return { ...options, settings: { ...settings, operator } };
}

async function peopleOf(
  network: NetworkClient,
  { contacts: count = 1, groups: wanted = 0 }: InstanceStageOptions,
): Promise<Pick<InstanceStage, 'phone' | 'contacts' | 'groups'>> {
  const phone = await network.phone('5511900000001', { name: 'Shop' });
  const contacts: Person[] = [];
  for (let index = 0; index < count; index++) {
    contacts.push(await network.contact(testPhone(index), { name: `Contact ${index}` }));
  }
  const groups: Group[] = [];
  for (let index = 0; index < wanted; index++) {
    const members = Array.from({ length: MEMBERS }, (_, place) => contacts[(index + place) % count]!);
    groups.push({ jid: await network.group(`Group ${index}`, [phone, ...new Set(members)]), members });
  }
  return { phone, contacts, groups };
}

async function pairedNumber(customer: Customer, name: string, phone: Person): Promise<string> {
  const { client } = customer;
  const { id } = await client.createInstance(name, 'web');
  const { qr } = await client.expect<PairingOut>(200, 'POST', `/v1/instances/${id}/pairing`);
  await phone.scan(qr!.code);
  await stateIs(customer, id, 'connected');
  return id;
}

function stateIs({ client }: Customer, id: string, state: InstanceOut['state']): Promise<unknown> {
  return until(async () => (await client.instance(id)).state === state, { what: `it is ${state}` });
}
