import type { AuthenticationCreds } from '@whiskeysockets/baileys';
import type { SessionStore } from './store.js';

const TYPE = 'creds';
const KEY = 'me';

/** All types of entries of a session, deleted together. */
const TYPES = [
  TYPE,
  'session',
  'pre-key',
  'sender-key',
  'sender-key-memory',
  'app-state-sync-key',
  'app-state-sync-version',
  'lid-mapping',
  'device-list',
  'tctoken',
  'identity-key',
  'journal',
  'message-secret',
  'unavailable',
];

/** Null when no device is linked. Incomplete credentials are never stored. */
export async function loadCredentials(store: SessionStore): Promise<AuthenticationCreds | null> {
  const { [KEY]: found } = await store.read(TYPE, [KEY]);
  const creds = found as AuthenticationCreds | undefined;
  return creds?.me && creds.account ? creds : null;
}

export function saveCredentials(store: SessionStore, creds: AuthenticationCreds): Promise<void> {
  return store.write({ [TYPE]: { [KEY]: creds } });
}

/** Below the 5,000 entries that the internal API takes in one call. */
const KEYS_AT_ONCE = 2_000;

export async function forgetSession(store: SessionStore): Promise<void> {
  for (const type of TYPES) {
    const keys = Object.keys(await store.readAll(type));
    for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
      const part = keys.slice(from, from + KEYS_AT_ONCE).map((key): [string, null] => [key, null]);
      await store.write({ [type]: Object.fromEntries<null>(part) });
    }
  }
}
