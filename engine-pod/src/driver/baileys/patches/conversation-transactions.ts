import type { WASocket } from '@whiskeysockets/baileys';
import type { SessionStore } from '../session/store.js';
import { waitUntilStored, writeContext } from './write-context.js';

/**
 * Gives each conversation its own transaction. Baileys sends the messages of an account one after the other: its
 * transaction on the keys is named after the account and lasts from the device query until the stanza is written.
 * Nothing in it needs that. Sessions have locks of their own (session/signal-transactions.ts), and every other key
 * it changes belongs to one chat.
 *
 * A message waits for its ratchet steps at its last key access before the stanza (the token of a contact, the
 * sender key memory of a group), where nothing queues behind it. Without that access it waits in the write guard,
 * with every later frame.
 *
 * Key writes after the stanza (the token given to a new contact) go straight to the store. The finished transaction
 * would lose them, and every message would repeat them.
 */
export function useConversationTransactions(socket: WASocket, store: SessionStore): void {
  const { keys } = socket.authState;
  const stock = { ...keys };
  keys.transaction = (work, key) => stock.transaction(work, writeContext.getStore()?.chat ?? key);
  keys.get = async (type, ids) => {
    const message = writeContext.getStore();
    if (message?.finished) return store.get(type, ids);
    if (message) await waitUntilStored(message);
    return stock.get(type, ids);
  };
  keys.set = async (data) => {
    const message = writeContext.getStore();
    if (message?.finished) return store.set(data);
    if (message) await waitUntilStored(message);
    return stock.set(data);
  };
}
