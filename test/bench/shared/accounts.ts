import { newApiKey } from '@gwk/api/accounts/api-keys';
import type { Database } from '@gwk/api/database/database';
import { newUuid } from '@gwk/core/ids/ids';
import { SCOPES } from '@gwk/core/scopes';

/** Limits for a heavy sender. Every check stays on. */
const POLICY = {
  messages_per_minute: 6000,
  new_contacts_per_day: 100_000,
  mass_block: { max_contacts: 10_000, window_minutes: 1 },
};
const REQUESTS_PER_MINUTE = 10_000_000;

export interface BenchAccount {
  id: string;
  apiKey: string;
}

/** Creates an account and an unrestricted key as the CLI does. */
export async function makeAccount(db: Database, name: string): Promise<BenchAccount> {
  const id = newUuid();
  const { key, hash } = newApiKey();
  await db.account.create({
    data: {
      id,
      name,
      maxInstances: 10_000,
      requestsPerMinute: REQUESTS_PER_MINUTE,
      policy: POLICY,
      apiKeys: {
        create: { id: newUuid(), name: 'bench', hash: new Uint8Array(hash), scopes: [...SCOPES] },
      },
    },
  });
  return { id, apiKey: key };
}
