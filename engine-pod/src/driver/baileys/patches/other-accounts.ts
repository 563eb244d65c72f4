import { getBinaryNodeChild, type BinaryNode, type WASocket } from '@whiskeysockets/baileys';
import { isSameAccount, type AccountIds } from '@gwk/core/ids/recipients';
import { interceptEvent } from './socket-internals.js';

/**
 * Refuses the link with any account but `only`, before the device signs it. The phone then shows that the link failed, and has
 * no device to remove; no message of that account reaches the engine.
 * @param only null: any account may link
 */
export function refuseOtherAccounts(socket: WASocket, only: AccountIds | null, refused: () => void): void {
  if (only === null) return;
  interceptEvent<BinaryNode>(socket, 'CB:iq,,pair-success', (stanza, pass) => {
    const device = getBinaryNodeChild(getBinaryNodeChild(stanza, 'pair-success'), 'device');
    const { jid, lid = null } = device?.attrs ?? {};
    if (jid === undefined || isSameAccount(only, { jid, lid })) return void pass(stanza);
    const error = { tag: 'error', attrs: { code: '500', text: 'internal-error' } };
    const attrs = { to: 's.whatsapp.net', type: 'error', id: stanza.attrs['id']! };
    void socket
      .sendNode({ tag: 'iq', attrs, content: [error] })
      .catch(() => undefined)
      .then(refused);
  });
}
