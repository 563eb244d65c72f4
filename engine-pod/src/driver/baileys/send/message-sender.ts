import type { WASocket } from '@whiskeysockets/baileys';
import { SendFailure, type Stanza } from '../../driver.js';
import { createWriteContext, writeContext, type WriteContext } from '../patches/write-context.js';
import type { NetworkConnection } from '../connection/network-connection.js';
import { Acks } from './acks.js';
import { decodeBuiltMessage, type BuiltMessage } from './built-message.js';
import { Recipients } from './recipients.js';

/** A message ready to be sent. */
export interface OutgoingMessage extends Pick<Stanza, 'waMessageId' | 'chat' | 'mayWrite' | 'signal'> {
  built: BuiltMessage;
}

/**
 * Sends messages over the current connection.
 *
 *     build.ts: upload.ts (file) ─▶ content/ (render) ─▶ built-message.ts (bytes)
 *                                                             │  the engine stores the bytes before the first attempt
 *     build-edit.ts (edit, delete, react) ──────────┐         │
 *                                                   ▼         ▼
 *     recipients.ts (JID, devices, sessions) ─▶ message-sender.ts ─▶ Baileys' relayMessage (encrypts: session/)
 *                                                   ▲                  │
 *                                                   │                  ▼
 *                    acks.ts (accepted or refused) ─┴─── socket ◀─ patches/write-guard.ts
 *
 * restriction.ts reports when the network stops the instance from reaching new contacts.
 */
export class MessageSender {
  readonly recipients = new Recipients();
  readonly #acks = new Acks();

  attach(link: NetworkConnection): void {
    this.#acks.listen(link.socket);
  }

  sendBuilt(link: NetworkConnection, { bytes, ...stanza }: Stanza): Promise<void> {
    return this.send(link, { ...stanza, built: decodeBuiltMessage(bytes) });
  }

  /**
   * Resolves when the network has acknowledged the message.
   * @throws SendFailure
   */
  async send(link: NetworkConnection, outgoing: OutgoingMessage): Promise<void> {
    const jid = await this.recipients.prepare(link, outgoing.chat);
    const message = createWriteContext(jid, outgoing.mayWrite);
    const givingUp = AbortSignal.any([link.closed, outgoing.signal]);
    if (givingUp.aborted) throw SendFailure.notWritten();
    const { answer, forget } = this.#acks.expect(outgoing.waMessageId, givingUp);
    try {
      await this.#relay(link.socket, { jid, message, outgoing });
      await answer;
      if (message.distributedKeys) await link.confirmKeys(message.distributedKeys);
    } finally {
      forget();
    }
  }

  async #relay(
    socket: WASocket,
    { jid, message, outgoing }: { jid: string; message: WriteContext; outgoing: OutgoingMessage },
  ): Promise<void> {
    const { built, waMessageId } = outgoing;
    try {
      await writeContext.run(message, () =>
        socket.relayMessage(jid, built.message, {
          messageId: waMessageId,
          ...(built.nodes && { additionalNodes: built.nodes }),
          ...(built.attributes && { additionalAttributes: built.attributes }),
        }),
      );
    } catch {
      // It may fail after the stanza was written. Then only the acknowledgement decides.
      if (message.written) return;
      message.abandoned = true;
      throw SendFailure.notWritten();
    } finally {
      message.finished = true;
    }
  }
}
