import type { SignalKeyStore } from '@whiskeysockets/baileys';
import { writeContext } from '../patches/write-context.js';
import type { SessionStore } from './store.js';

const SENDER_KEY_MEMORY = 'sender-key-memory';

/**
 * The session as Baileys' sending sees it. Whoever is given the key of a group is noted with the message that carries
 * it, and stored once the network has that message (`confirmKeys`): where it was lost with the connection, or the
 * engine with it, the key is given again. Else members could not read what follows.
 */
export function createSendingKeyStore(store: SessionStore): SignalKeyStore {
  return {
    get: (type, ids) => store.get(type, ids),
    set: (data) => {
      const message = writeContext.getStore();
      const { [SENDER_KEY_MEMORY]: given, ...others } = data;
      if (!message || !given) return store.set(data);
      message.distributedKeys = { ...message.distributedKeys, ...given };
      return store.set(others);
    },
  };
}

/** The network has the message that carried them. */
export async function confirmDistributedKeys(
  store: SessionStore,
  given: Record<string, unknown>,
): Promise<void> {
  await store.write({ [SENDER_KEY_MEMORY]: given });
}
