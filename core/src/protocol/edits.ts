/**
 * Arguments of the commands `edit`, `delete` and `react`. Each changes a sent or received message, by a message of its
 * own on the network.
 */
export interface MessageKey {
  /** Network id of the conversation. */
  chat: string;
  wa_message_id: string;
  /** Whether the instance sent the message. */
  from_me: boolean;
  /** Author within a group; null in a direct chat, and for messages of the instance. */
  participant: string | null;
}

/** An empty emoji removes the reaction. */
export type OutboundEdit = {
  /** Id of the new message. The API chooses it, so that a retry within one request uses the same id. */
  stanza_id: string;
  message: MessageKey;
} & ({ kind: 'edit'; text: string } | { kind: 'delete' } | { kind: 'react'; emoji: string });

/** Error codes in the reply of such a command. */
export const EDIT_FAILURES = {
  /** Not sent, because there is no connection. */
  notConnected: 'not_connected',
  /** The network refused it. */
  refused: 'wa_error',
  /** Sent, but the network did not acknowledge it. */
  unconfirmed: 'timeout',
} as const;
