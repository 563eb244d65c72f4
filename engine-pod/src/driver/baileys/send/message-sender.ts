import type { WASocket } from '@whiskeysockets/baileys';
import { SendFailure, type Stanza } from '../../driver.js';
import { createWriteContext, writeContext, type WriteContext } from '../patches/write-context.js';
import type { NetworkConnection } from '../connection/network-connection.js';
import { Acks } from './acks.js';
import type { BuiltMessage } from './built-message.js';
import { Recipients } from './recipients.js';

/** A message ready to be sent. */
interface OutgoingMessage extends Omit<Stanza, 'bytes'> {
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

  attach(connection: NetworkConnection): void {
    this.#acks.listen(connection.socket);
  }

  /**
   * Resolves when the network has acknowledged the message.
   * @throws SendFailure
   */
  async send(connection: NetworkConnection, outgoing: OutgoingMessage): Promise<void> {
    const jid = await this.recipients.prepare(connection, outgoing.chat);
    const message = createWriteContext(jid, outgoing.mayWrite);
    const signal = AbortSignal.any([connection.closed, outgoing.signal]);
    if (signal.aborted) throw SendFailure.notWritten();
    const { answer, forget } = this.#acks.expect(outgoing.waMessageId, signal);
    try {
      await this.#relay(connection.socket, { jid, message, outgoing });
      await answer;
      if (message.distributedKeys) await connection.confirmKeys(message.distributedKeys);
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
