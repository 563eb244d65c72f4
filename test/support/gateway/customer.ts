import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { newApiKey } from '@gwk/api/accounts/api-keys';
import { openDatabase } from '@gwk/api/database/database';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { MediaOut } from '@gwk/core/resources/media';
import { SCOPES } from '@gwk/core/scopes';
import { GatewayClient } from './client.js';
import type { Gateway } from './gateway.js';
import { commandEnvironment } from './gateway-settings.js';
import { runGwkJson } from './gwk-command.js';

export interface Account {
  id: string;
  name: string;
}

export interface ApiKey {
  id: string;
  api_key: string;
  scopes: string[];
}

/** The parts of a running gateway that a customer needs. */
export type Place = Pick<Gateway, 'urls' | 'settings'> & { isShared?: true };

/** An account with limits that tests do not reach by accident. */
export interface Customer {
  account: Account;
  key: ApiKey;
  /** One client per API process, all with the same key. */
  clients: GatewayClient[];
  client: GatewayClient;
  close(): void;
}

const REQUESTS_PER_MINUTE = 10_000_000;
const HIGH_LIMITS = {
  messages_per_minute: 6000,
  new_contacts_per_day: 100_000,
  mass_block: { max_contacts: 10_000, window_minutes: 1 },
};

export interface CustomerOptions {
  maxInstances?: number;
}

/** Writes account and key directly into the database, because each CLI command takes about a second. */
export async function newCustomer(
  place: Place,
  name: string,
  options: CustomerOptions = {},
): Promise<Customer> {
  const id = newUuid();
  const keyId = newUuid();
  const { key, hash } = newApiKey();
  const scopes = [...SCOPES];
  const db = openDatabase({ url: place.settings.databaseUrl, poolSize: 1, program: 'test' });
  try {
    await db.account.create({
      data: {
        ...{ id, name, requestsPerMinute: REQUESTS_PER_MINUTE, policy: HIGH_LIMITS, ...options },
        apiKeys: { create: { id: keyId, name: 'test', hash: new Uint8Array(hash), scopes } },
      },
    });
  } finally {
    await db.$disconnect();
  }
  const apiKey = { id: toPublicId('apiKey', keyId), api_key: key, scopes };
  return customerWith(place, { id: toPublicId('account', id), name }, apiKey);
}

export function customerWith(place: Place, account: Account, key: ApiKey): Customer {
  const clients = place.urls.map((url) => new GatewayClient(url, key.api_key, place.isShared));
  return {
    account,
    key,
    clients,
    client: clients[0]!,
    close: () => clients.forEach((client) => client.close()),
  };
}

/** Creates a key with the CLI. */
export function newKey(place: Place, account: string, scopes: string, ...more: string[]): Promise<ApiKey> {
  const args = ['key', 'create', '--account', account, '--scopes', scopes, ...more];
  return runGwkJson<ApiKey>(args, commandEnvironment(place.settings));
}

export async function uploadFile(
  { urls }: Pick<Place, 'urls'>,
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
  if (answer.status !== 201) throw new Error(`the upload was answered with ${answer.status}`);
  return (await answer.json()) as MediaOut;
}
