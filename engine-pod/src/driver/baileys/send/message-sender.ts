import { isJidGroup } from '@whiskeysockets/baileys';
import { SendFailure, type Stanza } from '../../driver.js';
import { writeContext, type WriteContext } from '../patches/write-context.js';
import { maskNumbers } from '../connection/baileys-logger.js';
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
 *                                                             │  the engine stores the bytes before the stanza leaves
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
    ...(outgoing.stored && { stored: outgoing.stored }),
    pendingWrites: [],
    confirmations: [],
  };
  const signal = AbortSignal.any([closed, outgoing.signal]);
  if (signal.aborted) throw SendFailure.notWritten();
  const { answer, forget } = expectAck(socket, outgoing.waMessageId, signal);
  try {
    await relay(connection, message, outgoing);
    await answer.catch((error: unknown) => explainRefusal(connection, jid, error));
    for (const confirm of message.confirmations) await confirm();
  } finally {
    forget();
  }
}

/** The network refuses the members or their addresses. */
const STALE_GROUP = ['420', '421'];

/**
 * A refusal in a group may mean that the group changed without a notice. The network is asked for the group again,
 * and its answer may contain the reason. A refusal for a time (429, 5xx) says nothing about the group.
 * @throws SendFailure
 */
async function explainRefusal(
  { groups }: Pick<NetworkConnection, 'groups'>,
  jid: string,
  error: unknown,
): Promise<never> {
  if (isJidGroup(jid) && error instanceof SendFailure && error.certain) {
    if (!error.retriable || STALE_GROUP.includes(error.networkCode ?? '')) groups.forget(jid);
    if (!error.retriable) await groups.requireMaySend(jid).catch(rethrowRefusal);
  }
  throw error;
}

function rethrowRefusal(error: unknown): void {
  if (error instanceof SendFailure && !error.retriable) throw error;
}

async function relay(
  { socket, log }: NetworkConnection,
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
  } catch (error) {
    log.debug({ stack: maskNumbers((error as Error).stack ?? '') }, 'message could not be written');
    // The call may fail after the stanza was written. Then only the acknowledgement decides.
    if (message.written) return;
    message.abandoned = true;
    throw SendFailure.notWritten();
  } finally {
    message.finished = true;
  }
}
