import { jidDecode, type BinaryNode, type WASocket } from '@whiskeysockets/baileys';
import { interceptEvent } from '../patches/socket-internals.js';
import { normaliseJid } from '../stanza-attrs.js';
import type { NoticeServices } from './reporter.js';

/**
 * Forgets the devices of a person whose devices changed, so that the next message asks for them. Baileys changes only the list
 * under the id that the notice names with each device, while the list in use may be that of the other id.
 */
export function forgetChangedDevices(
  socket: Pick<WASocket, 'ws' | 'userDevicesCache'>,
  { findOtherId }: Pick<NoticeServices, 'findOtherId'>,
): void {
  const forget = async ({ from = '', lid }: BinaryNode['attrs']): Promise<void> => {
    const other = lid ?? (await findOtherId(normaliseJid(from))) ?? undefined;
    for (const id of [from, other]) await socket.userDevicesCache.del(jidDecode(id)?.user ?? '');
  };
  interceptEvent(socket, 'CB:notification', (stanza: BinaryNode, pass) => {
    if (stanza.attrs['type'] !== 'devices') return void pass(stanza);
    forget(stanza.attrs)
      .catch(() => undefined)
      .then(() => pass(stanza))
      // The connection has ended.
      .catch(() => undefined);
  });
}
