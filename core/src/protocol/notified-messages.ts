import { decryptForEngine, encryptForEngine } from './command-key.js';
import { parseUuidTime } from '../ids/public-ids.js';
import type { ClaimedMessage } from './engine.js';

/**
 * New messages that the API hands to an engine with their notification. The engine builds them at once, and one call claims
 * them and stores what was built. An engine may ignore them: they wait in Postgres as all others do.
 */
export type NotifiedMessage = Pick<
  ClaimedMessage,
  'message_id' | 'conversation_id' | 'chat' | 'wa_message_id' | 'type' | 'content' | 'traceparent'
>;

/** Bound on the messages of one notification before encryption. Redis keeps up to 32 of them for each instance. */
export const MAX_NOTIFIED_BYTES = 1_000;

/** An entry that is read again, or written again by somebody else, must not make the engine build messages again. */
const MAX_AGE_MS = 60_000;

/**
 * @param messageId of the notification
 * @returns null if they are too long
 */
export function encodeNotified(
  messages: readonly NotifiedMessage[],
  messageId: string,
  key: Uint8Array,
): string | null {
  const text = JSON.stringify(messages);
  return Buffer.byteLength(text) > MAX_NOTIFIED_BYTES
    ? null
    : encryptForEngine(text, key, contextOf(messageId));
}

/**
 * @param now time of the wall clock, in milliseconds
 * @returns null for an old message, and for a text that was not encrypted with this key for this notification
 */
export function decodeNotified(
  encrypted: string,
  messageId: string,
  { key, now }: { key: Uint8Array; now: number },
): NotifiedMessage[] | null {
  if (now - parseUuidTime(messageId) > MAX_AGE_MS) return null;
  const text = decryptForEngine(encrypted, key, contextOf(messageId));
  return text === null ? null : (JSON.parse(text) as NotifiedMessage[]);
}

const contextOf = (messageId: string): string => `messages ${messageId}`;
