import type { WASocket } from '@whiskeysockets/baileys';
import type { SessionStore } from '../session/store.js';
import { waitUntilStored, writeContext } from './write-context.js';

/**
 * Baileys sends one message of an account after the other: its transaction on the keys, held from the look-up of
 * devices until the stanza is written, has the name of the account. Nothing in it needs that: sessions have locks of
 * their own (see Operations), and what else it changes belongs to one chat. So messages of different chats go side by
 * side, and their ratchet steps are stored together.
 *
 * The last thing that Baileys asks of the keys before it writes the stanza of a message (the token of a contact, the
 * memory of a group) is where the message waits until its ratchet steps are stored. There nothing waits behind it. Were
 * it not asked, the stanza would wait at the wire, and with it every frame that comes after.
 *
 * What is done for a message once it has left (the token that a new contact is given) would be kept in a transaction
 * that is over, and so lost and done again with every message: it goes to the store.
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
