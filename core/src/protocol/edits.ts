/**
 * What the commands `edit`, `delete` and `react` carry: a change of a message that has left, or came in, which goes to
 * the network as a message of its own.
 */
export interface MessageKey {
  /** Network id of the conversation. */
  chat: string;
  wa_message_id: string;
  /** Sent by the number itself. */
  from_me: boolean;
  /** Who wrote it, in a group; null in a direct chat and for our own. */
  participant: string | null;
}

interface EditBase {
  /** Id of the change's own message, chosen by who asks: an attempt that is repeated within a request keeps it. */
  stanza_id: string;
  message: MessageKey;
}

type TextEdit = EditBase & { kind: 'edit'; text: string };
type Deletion = EditBase & { kind: 'delete' };
/** An empty emoji takes the reaction back. */
type ReactionEdit = EditBase & { kind: 'react'; emoji: string };
export type OutboundEdit = TextEdit | Deletion | ReactionEdit;

/** Codes of a refused change, in the command's reply. */
export const EDIT_FAILURES = {
  /** Nothing was given to the network: there is no connection. */
  notConnected: 'not_connected',
  /** The network says no. */
  refused: 'wa_error',
  /** It was given to the network, and no answer came. */
  unconfirmed: 'timeout',
} as const;
