import {
  isPnUser,
  encodeWAMessage,
  NACK_REASONS,
  type BinaryNode,
  type WASocket,
} from '@whiskeysockets/baileys';
import { decidePlace } from '@gwk/core/ids/addresses';
import type { Logger } from '@gwk/core/process/log';
import { getRawSocket, interceptEvent, type RawSocket } from '../../patches/socket-internals.js';
import { decryptAhead } from '../decrypt/read-ahead.js';
import type { UndecryptableMessages } from '../decrypt/undecryptable.js';
import type { Journal } from '../journal.js';
import { FairQueue } from './fair-queue.js';
import { normaliseJid } from '../../stanza-attrs.js';

/** Far more than an app can make of text, thumbnails and contact cards. */
const MAX_BYTES = 2_000_000;
/** Maximum size of the messages that wait. */
const MAX_WAITING_BYTES = 16_000_000;
/** Estimated size of a stanza without its content. */
const STANZA_BYTES = 1_000;
/** Longest pause of the socket. A message in progress may itself wait for an answer of the network. */
const PAUSE_MS = 250;

/**
 * Passes messages to Baileys one at a time: in order within a conversation, in turn between conversations. Stock
 * Baileys lets messages overtake each other while it looks up ids and while it handles offline messages. A group
 * message that overtakes its sender key cannot be decrypted. When messages come faster than they are handled, the
 * socket is read slowly.
 */
export function attachOrderedIntake(
  socket: WASocket,
  undecryptable: UndecryptableMessages,
  { journal, log }: { journal: Journal; log: Logger },
): void {
  const { ws } = socket;
  const beginMessage = createBackpressure(getRawSocket(socket));
  const queue = new FairQueue();
  interceptEvent(socket, 'CB:message', (stanza: BinaryNode, pass) => {
    const bytes = countBytes(stanza);
    const isTooLarge = bytes > MAX_BYTES && stanza.attrs['category'] !== 'peer';
    const handled = beginMessage(bytes);
    const process = async (): Promise<void> => {
      // Messages that are not handled before the connection ends come again with the next one.
      if (!ws.isOpen) return;
      if (isUnreadable(stanza)) return acknowledgeUnread(socket, journal, stanza);
      if (!isTooLarge)
        return undecryptable.process(stanza, () => Promise.all(pass(withoutOfflineMark(stanza))));
      log.warn({ bytes }, 'message refused: too large');
      await socket.sendMessageAck(stanza, NACK_REASONS.UnhandledError);
    };
    queue.add(getConversationKey(stanza.attrs), {
      bytes,
      decrypt: async () => ws.isOpen && !isTooLarge && !isUnreadable(stanza) && decryptAhead(socket, stanza),
      process: () => process().finally(handled),
    });
  });
}

/**
 * Whether Baileys would refuse the message without a look at its content: it knows nothing of the sender, or of the encryption,
 * which assistants of Meta use.
 */
function isUnreadable({ attrs, content }: BinaryNode): boolean {
  const children = Array.isArray(content) ? content : [];
  const isOfAssistant = children.some(({ tag, attrs: { type } }) => tag === 'enc' && type === 'msmsg');
  return isOfAssistant || decidePlace(attrs['from'] ?? '') === 'unknown';
}

/** Journals the message as unknown before the network gets the acknowledgement. */
async function acknowledgeUnread(socket: WASocket, journal: Journal, stanza: BinaryNode): Promise<void> {
  if (stanza.attrs['id']) await journal.addPlaintext(stanza.attrs, UNKNOWN);
  await socket.sendMessageAck(stanza);
}

/** Padded like decrypted content. */
const UNKNOWN = encodeWAMessage({ placeholderMessage: {} });

/**
 * The key of the conversation whose messages must stay in order. It is the same for both sides and for both ids of
 * the contact: the LID, where the network states it.
 */
export function getConversationKey(attrs: Record<string, string>): string {
  const { from, sender_lid, recipient, recipient_lid, peer_recipient_lid } = attrs;
  const { participant, participant_lid } = attrs;
  const ofSender = isListJid(from) ? [participant, participant_lid] : [from, sender_lid];
  const [name, lid] = recipient === undefined ? ofSender : [recipient, peer_recipient_lid ?? recipient_lid];
  const id = normaliseJid(name);
  return isPnUser(id) && lid !== undefined ? normaliseJid(lid) : id;
}

/** A broadcast list. Status posts have a list of their own. */
export const isListJid = (jid: string | undefined): boolean => /^[0-9]{1,30}@broadcast$/.test(jid ?? '');

/**
 * Pauses the socket while too many bytes wait.
 * @returns counts a message, and returns a function to call once it is handled
 */
function createBackpressure(raw: RawSocket): (contentBytes: number) => () => void {
  let waiting = 0;
  let pause: NodeJS.Timeout | undefined;
  const resume = (): void => {
    if (!pause) return;
    clearTimeout(pause);
    pause = undefined;
    raw.resume();
  };
  return (contentBytes) => {
    const bytes = contentBytes + STANZA_BYTES;
    waiting += bytes;
    if (waiting > MAX_WAITING_BYTES && !pause) {
      raw.pause();
      pause = setTimeout(resume, PAUSE_MS);
    }
    return () => {
      waiting -= bytes;
      if (waiting <= MAX_WAITING_BYTES / 2) resume();
    };
  };
}

function countBytes({ content }: BinaryNode): number {
  if (!Array.isArray(content)) return content?.length ?? 0;
  return content.reduce((sum, child) => sum + countBytes(child), 0);
}

/** Removes the mark that sends the message to the separate offline queue. */
function withoutOfflineMark({ attrs: { offline: _, ...attrs }, ...stanza }: BinaryNode): BinaryNode {
  return { ...stanza, attrs };
}
