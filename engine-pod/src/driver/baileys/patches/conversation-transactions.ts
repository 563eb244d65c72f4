import type { WASocket } from '@whiskeysockets/baileys';
import type { SessionStore } from '../session/store.js';
import { waitUntilStored, writeContext } from './write-context.js';

const KEY_RECEIVERS = 'sender-key-memory';

/**
 * Replaces the account-wide transaction of a send by one for each chat. A message waits for its ratchet steps at
 * its last key access before the stanza, where nothing queues behind it. Without that access it waits in the write
 * guard, with every later frame. Key writes after the stanza go to the store, because the finished transaction
 * would lose them.
 *
 * Stock Baileys stores who gets a group's sender key before the network has the message that carries it. If that
 * message is lost with the connection or the engine, members cannot decrypt later ones. Here it is stored after the
 * acknowledgement, so the key is sent again.
 * See docs/decisions/0009-how-the-baileys-driver-prevents-loss-and-duplicates.md.
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
    if (message?.finished) return store.write(data);
    if (!message) return stock.set(data);
    await waitUntilStored(message);
    const { [KEY_RECEIVERS]: receivers, ...others } = data;
    if (receivers) message.confirmations.push(() => store.write({ [KEY_RECEIVERS]: receivers }));
    return stock.set(others);
  };
}
