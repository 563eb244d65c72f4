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

export async function forgetSession(store: SessionStore): Promise<void> {
  for (const type of TYPES) {
    const keys = Object.keys(await store.readAll(type));
    if (keys.length > 0) await store.write({ [type]: Object.fromEntries(keys.map((key) => [key, null])) });
  }
}
