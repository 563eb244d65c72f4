import { jidDecode, type BinaryNode, type WASocket } from '@whiskeysockets/baileys';
import { interceptEvent } from '../patches/socket-internals.js';

/**
 * Forgets the devices of a person whose devices changed, so that the next message asks for them. Baileys changes only the list
 * under the id that the notice names with each device: that of the phone number, while the list in use may be that of the LID.
 */
export function forgetChangedDevices(socket: Pick<WASocket, 'ws' | 'userDevicesCache'>): void {
  interceptEvent(socket, 'CB:notification', (stanza: BinaryNode, pass) => {
    const { type, from, lid } = stanza.attrs;
    const users = type === 'devices' ? [from, lid].flatMap((id) => jidDecode(id)?.user ?? []) : [];
    for (const user of users) void socket.userDevicesCache.del(user);
    pass(stanza);
  });
}
