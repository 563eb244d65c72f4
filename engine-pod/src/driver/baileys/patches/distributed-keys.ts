import type { SignalKeyStore } from '@whiskeysockets/baileys';
import { writeContext } from './write-context.js';
import type { SessionStore } from '../session/store.js';

const SENDER_KEY_MEMORY = 'sender-key-memory';

/**
 * The key store that Baileys uses while sending. It records the members who get a group's sender key with the
 * message that carries it, and stores them only once the network has that message. If the message is lost with the
 * connection or the engine, the key is sent again. Otherwise members could not decrypt later messages.
 */
export function createSendingKeyStore(store: SessionStore): SignalKeyStore {
  return {
    get: (type, ids) => store.get(type, ids),
    set: (data) => {
      const message = writeContext.getStore();
      const { [SENDER_KEY_MEMORY]: keys, ...others } = data;
      if (!message || !keys) return store.write(data);
      message.confirmations.push(() => store.write({ [SENDER_KEY_MEMORY]: keys }));
      return store.write(others);
    },
  };
}
