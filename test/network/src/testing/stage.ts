import type { UserFacingSocketConfig } from '@whiskeysockets/baileys';
import type { Person } from '../control/client.js';
import { startNetwork, type RunningNetwork, type StartOptions } from '../start.js';
import { StockClient } from './stock-client.js';

/** A network, a linked phone number and a contact: the setup of nearly every test. */
export interface Stage {
  running: RunningNetwork;
  network: RunningNetwork['client'];
  phone: Person;
  ana: Person;
  client: StockClient;
  /** Creates a further client, which is closed at the end. */
  newClient: (auth?: StockClient['auth'], settings?: Partial<UserFacingSocketConfig>) => StockClient;
  /**
   * Removes all faults.
   * @returns a connected client: the same one, or a replacement
   */
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
    logins.resetCounts();
    faults.clearRules();
    faults.setLine(phone.number, undefined);
    faults.refuse(phone.number, undefined);
    faults.restrict(phone.number, undefined);
    faults.outage = false;
    faults.versions.require(['linking', 'login'], undefined);
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
