import type { WASocket } from '@whiskeysockets/baileys';
import type { Logger } from '@gwk/core/process/log';
import { interceptEvent } from './socket-internals.js';

/**
 * Ignores frames that cannot be parsed or whose listeners throw. In stock Baileys such a frame ends the process,
 * and the next process too, because the network sends it again.
 */
export function ignoreBrokenFrames(socket: Pick<WASocket, 'ws'>, log: Logger): void {
  interceptEvent(socket, 'message', (data, pass) => {
    Promise.all(pass(data)).catch(({ name: kind }: Error) =>
      log.warn({ kind }, 'frame could not be handled'),
    );
  });
}

/** Ignores stanzas that an engine does not use and that strangers can send in any number. */
export function ignoreUnsolicitedStanzas(socket: Pick<WASocket, 'ws'>): void {
  for (const name of ['CB:presence', 'CB:chatstate']) interceptEvent(socket, name, () => undefined);
}
