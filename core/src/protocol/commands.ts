import { decryptForEngine, encryptForEngine } from './command-key.js';
import type { QuotedMessage } from './engine.js';

/**
 * Commands to an engine, on the command stream of its instance in Redis. The engine replies on a channel of the API
 * process that sent the command. Deadlines use the clock of Redis.
 *
 * The command key of the instance encrypts each command (command-key.ts).
 */
export const COMMANDS = [
  'live',
  /** Renew the lease now, because its terms (pacing, calls) have changed. The reply follows once they hold. */
  'renew',
  'restart',
  'logout',
  'edit',
  'delete',
  'react',
  'pair',
  /** The answer to the request for a passkey, or the comparison of codes, of one pairing session. */
  'passkey',
  'check-contact',
  'read',
  'presence',
  'groups',
  'group',
] as const;
export type CommandName = (typeof COMMANDS)[number];

export interface Command {
  id: string;
  name: CommandName;
  /** JSON object of arguments. */
  args: string;
  /** Milliseconds since 1970 on the clock of Redis. Afterwards nobody waits for the reply. */
  deadline: number;
  /** The API process that waits for the reply; part of the name of its channel. */
  requester: string;
}

export type CommandReply =
  { id: string; ok: true; result: unknown } | { id: string; ok: false; code: string; message: string };

/** Bound on the reply of an engine: the API reads no longer ones, in UTF-16 code units of its JSON. */
export const MAX_REPLY_LENGTH = 65_536;

/** @returns the fields of the stream entry: `args` is encrypted, the other fields are authenticated */
export function encodeCommand(command: Command, key: Uint8Array): Record<string, string> {
  return {
    id: command.id,
    name: command.name,
    args: encryptForEngine(command.args, key, contextOf(command)),
    deadline: String(command.deadline),
    requester: command.requester,
  };
}

/** @returns null for an entry that is malformed or not encrypted with `key` */
export function decodeCommand(fields: Record<string, string>, key: Uint8Array): Command | null {
  const { id, name, args, deadline, requester } = fields;
  if (!id || !name || !args || !deadline || !requester) return null;
  if (!(COMMANDS as readonly string[]).includes(name)) return null;
  const frame = { id, name: name as CommandName, deadline: Number(deadline), requester };
  const plainArgs = decryptForEngine(args, key, contextOf(frame));
  return plainArgs === null ? null : { ...frame, args: plainArgs };
}

const contextOf = ({ id, name, deadline, requester }: Omit<Command, 'args'>): string =>
  JSON.stringify([id, name, String(deadline), requester]);

/** The message that a command `edit`, `delete` or `react` changes, by a message of its own on the network. */
export interface MessageKey {
  /** Network id of the conversation. */
  chat: string;
  wa_message_id: string;
  /** Whether the instance sent the message. */
  from_me: boolean;
  /** Author within a group; null in a direct chat, and for messages of the instance. */
  participant: string | null;
}

/** A new text, with the quote and the mentions of the edited message. */
export interface TextEdit {
  kind: 'edit';
  text: string;
  quoted?: QuotedMessage;
  mentions?: string[];
}

/** An empty emoji removes the reaction. */
export type OutboundEdit = {
  /** Id of the new message. The API chooses it, so that a retry within one request uses the same id. */
  stanza_id: string;
  message: MessageKey;
} & (TextEdit | { kind: 'delete' } | { kind: 'react'; emoji: string });

/** Arguments of the command `passkey`. `credential`: the JSON of the assertion, which nobody stores or logs. */
export type PasskeyCommand = { session: string } & (
  { kind: 'assertion'; credential: string } | { kind: 'comparison'; equal: boolean }
);

/** Error code in its reply: the session is closed, or waits for something else. */
export const PASSKEY_NOT_AWAITED = 'passkey_not_awaited';

/** Error codes in the reply of such a command. */
export const EDIT_FAILURES = {
  /** Not sent, because there is no connection. */
  notConnected: 'not_connected',
  /** The network refused it. */
  refused: 'wa_error',
  /** Only admins of the group may delete messages of others. */
  notAdmin: 'not_admin',
  /** Sent, but the network did not acknowledge it. */
  unconfirmed: 'timeout',
} as const;
