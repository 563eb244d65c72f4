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
  return {
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
