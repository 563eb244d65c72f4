import type { BinaryNode, WASocket } from '@whiskeysockets/baileys';
import type { Logger } from '@gwk/core/log';

type Take = (data: unknown) => unknown;

/**
 * A frame that cannot be read, or that somebody stumbles over who listens for it, is passed over: as it comes it ends
 * the process, and the next one too, since the network brings it again.
 */
export function ignoreBrokenFrames({ ws }: Pick<WASocket, 'ws'>, log: Logger): void {
  const name = 'message';
  const takers = ws.listeners(name) as Take[];
  ws.removeAllListeners(name);
  ws.on(name, (data: unknown) => {
    for (const take of takers)
      Promise.resolve(take(data)).catch(({ name: kind }: Error) =>
        log.warn({ kind }, 'a frame came that cannot be read'),
      );
  });
}

/**
 * What strangers can send as much of as they like and an engine has no use for. As it comes, Baileys keeps calls for five
 * minutes each and makes messages of them.
 */
export function ignoreUnsolicitedStanzas({
  ws,
  sendMessageAck,
}: Pick<WASocket, 'ws' | 'sendMessageAck'>): void {
  for (const name of ['CB:presence', 'CB:chatstate', 'CB:call']) ws.removeAllListeners(name);
  ws.on('CB:call', (call: BinaryNode) => {
    // Where the connection is over it comes again, and means nothing again.
    sendMessageAck(call).catch(() => undefined);
  });
}
