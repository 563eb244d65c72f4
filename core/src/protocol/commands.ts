import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Live operations: commands on an instance's command stream, answered on a channel of the API process that asked
 * (design: Live operations). Deadlines use Redis time. A command is signed with the instance's command key, so
 * that whoever can write to Redis alone cannot command an engine.
 */
export const COMMANDS = ['live', 'restart', 'logout'] as const;
export type CommandName = (typeof COMMANDS)[number];

export interface Command {
  id: string;
  name: CommandName;
  /** JSON object of arguments. */
  args: string;
  /** Milliseconds since 1970 on the clock of Redis; after it nobody waits for the answer. */
  deadline: number;
  /** Requester part of the reply channel. */
  requester: string;
}

export type CommandReply =
  { id: string; ok: true; result: unknown } | { id: string; ok: false; code: string; message: string };

/** The fields of the stream entry. */
export function encodeCommand(command: Command, key: Uint8Array): Record<string, string> {
  return {
    id: command.id,
    name: command.name,
    args: command.args,
    deadline: String(command.deadline),
    requester: command.requester,
    sig: signatureOf(command, key),
  };
}

/** Null for an entry that is malformed or not signed with the key. */
export function decodeCommand(fields: Record<string, string>, key: Uint8Array): Command | null {
  const { id, name, args, deadline, requester, sig } = fields;
  if (!id || !name || args === undefined || !deadline || !requester || !sig) return null;
  if (!(COMMANDS as readonly string[]).includes(name)) return null;
  const command: Command = { id, name: name as CommandName, args, deadline: Number(deadline), requester };
  const given = Buffer.from(sig, 'hex');
  const expected = Buffer.from(signatureOf(command, key), 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected) ? command : null;
}

function signatureOf(command: Command, key: Uint8Array): string {
  const parts = [command.id, command.name, command.args, String(command.deadline), command.requester];
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('hex');
}
