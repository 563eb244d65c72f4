import type { UserFacingSocketConfig } from '@whiskeysockets/baileys';
import type { Person } from '../control/client.js';
import { startNetwork, type RunningNetwork, type StartOptions } from '../start.js';
import { StockClient } from './stock-client.js';

/** A network, a linked number and somebody to write with: what nearly every test begins with. */
export interface Stage {
  running: RunningNetwork;
  network: RunningNetwork['client'];
  phone: Person;
  ana: Person;
  client: StockClient;
  /** A further client, closed at the end as well. */
  newClient(auth?: StockClient['auth'], settings?: Partial<UserFacingSocketConfig>): StockClient;
  /** Makes the network good again and gives back a client that is connected: the same, or one in its place. */
  recover(): Promise<StockClient>;
  close(): Promise<void>;
}

export async function setStage(options: StartOptions = {}): Promise<Stage> {
  const running = await startNetwork(options);
  const clients: StockClient[] = [];
  const newClient: Stage['newClient'] = (auth, settings) => {
    const client = new StockClient(running, auth, settings);
    clients.push(client);
    return client;
  };
  const phone = await running.client.phone('5511900000001', { name: 'Shop' });
  const ana = await running.client.contact('5511900000002', { name: 'Ana' });
  const client = await newClient().pair(phone);
  const recover = async () => {
    const { faults, logins } = running.network.world;
    logins.countAnew();
    faults.clearRules();
    faults.setLine(phone.number, undefined);
    faults.refuse(phone.number, undefined);
    faults.restrict(phone.number, undefined);
    faults.outage = false;
    delete faults.oldestVersion;
    const open = clients.findLast((one) => one.auth === client.auth && one.state === 'open');
    return open ?? newClient(client.auth).open().connected();
  };
  return {
    recover,
    running,
    network: running.client,
    phone,
    ana,
    client,
    newClient,
    close: async () => {
      for (const one of clients) await one.stop();
      await running.close();
    },
  };
}
