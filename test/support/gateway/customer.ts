import { GatewayClient } from './client.js';
import type { Gateway } from './gateway.js';

export interface Account {
  id: string;
  name: string;
}

export interface ApiKey {
  id: string;
  api_key: string;
  scopes: string[];
}

/** An account with limits so high that no test meets them by chance. Made as operators make it: by commands. */
export interface Customer {
  account: Account;
  key: ApiKey;
  /** One for each API process, each with the same key. */
  clients: GatewayClient[];
  client: GatewayClient;
  close(): void;
}

const HIGH_LIMITS = {
  messages_per_minute: 6000,
  new_contacts_per_day: 100_000,
  mass_block: { max_contacts: 10_000, window_minutes: 1 },
};

export async function newCustomer(
  gateway: Gateway,
  name: string,
  policy: Record<string, unknown> = {},
): Promise<Customer> {
  const account = await gateway.gwk<Account>('account', 'create', name, '--requests-per-minute', '10000000');
  const overrides = JSON.stringify({ ...HIGH_LIMITS, ...policy });
  await gateway.gwk('policy', 'set', '--account', name, '--json', overrides);
  const key = await newKey(gateway, name, 'all');
  const clients = gateway.urls.map((url) => new GatewayClient(url, key.api_key));
  return {
    account,
    key,
    clients,
    client: clients[0]!,
    close: () => clients.forEach((client) => client.close()),
  };
}

export function newKey(
  gateway: Gateway,
  account: string,
  scopes: string,
  ...more: string[]
): Promise<ApiKey> {
  return gateway.gwk<ApiKey>('key', 'create', '--account', account, '--scopes', scopes, ...more);
}
