import type { BinaryNode, WASocket } from '@whiskeysockets/baileys';
import type { Logger } from '@gwk/core/log';

type FrameListener = (data: unknown) => unknown;

/**
 * Ignores frames that cannot be parsed or whose listeners throw. In stock Baileys such a frame ends the process,
 * and the next process too, because the network sends it again.
 */
export function ignoreBrokenFrames({ ws }: Pick<WASocket, 'ws'>, log: Logger): void {
  const name = 'message';
  const listeners = ws.listeners(name) as FrameListener[];
  ws.removeAllListeners(name);
  ws.on(name, (data: unknown) => {
    for (const listen of listeners)
      Promise.resolve(listen(data)).catch(({ name: kind }: Error) =>
        log.warn({ kind }, 'frame could not be handled'),
      );
  });
}

/**
 * Ignores stanzas that an engine does not use and that strangers can send in any number. Stock Baileys keeps each
 * call for five minutes and makes a message of it.
 */
export function ignoreUnsolicitedStanzas({
  ws,
  sendMessageAck,
}: Pick<WASocket, 'ws' | 'sendMessageAck'>): void {
  for (const name of ['CB:presence', 'CB:chatstate', 'CB:call']) ws.removeAllListeners(name);
  ws.on('CB:call', (call: BinaryNode) => {
    // If the connection is closed, the stanza comes again and is ignored again.
    sendMessageAck(call).catch(() => undefined);
  });
}
