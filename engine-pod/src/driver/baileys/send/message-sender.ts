import type { WASocket } from '@whiskeysockets/baileys';
import { SendFailure, type Stanza } from '../../driver.js';
import { writeContext, type WriteContext } from '../patches/write-context.js';
import type { NetworkConnection } from '../connection/network-connection.js';
import { expectAck } from './acks.js';
import type { BuiltMessage } from './built-message.js';
import type { Recipients } from './recipients.js';

/** A message ready to be sent. */
interface OutgoingMessage extends Omit<Stanza, 'bytes'> {
  built: BuiltMessage;
}

/**
 * Sends a message over the current connection. Resolves when the network has acknowledged it.
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
 *
 * @throws SendFailure
 */
export async function sendMessage(
  connection: NetworkConnection,
  recipients: Recipients,
  outgoing: OutgoingMessage,
): Promise<void> {
  const { socket, closed } = connection;
  const jid = await recipients.prepare(connection, outgoing.chat);
  const message: WriteContext = {
    chat: jid,
    mayWrite: outgoing.mayWrite,
    pendingWrites: [],
    confirmations: [],
  };
  const signal = AbortSignal.any([closed, outgoing.signal]);
  if (signal.aborted) throw SendFailure.notWritten();
  const { answer, forget } = expectAck(socket, outgoing.waMessageId, signal);
  try {
    await relay(socket, message, outgoing);
    await answer;
    for (const confirm of message.confirmations) await confirm();
  } finally {
    forget();
  }
}

async function relay(
  socket: WASocket,
  message: WriteContext,
  { built, waMessageId }: OutgoingMessage,
): Promise<void> {
  try {
    await writeContext.run(message, () =>
      socket.relayMessage(message.chat, built.message, {
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
