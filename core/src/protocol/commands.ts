import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/**
 * Live operations: commands on an instance's command stream, answered on a channel of the API process that asked
 * (design: Live operations). Deadlines use Redis time. A command is sealed with the instance's command key: whoever
 * can write to Redis alone cannot command an engine, and whoever can read it learns neither phones nor texts from
 * the entries that an absent engine leaves unread.
 */
export const COMMANDS = [
  'live',
  /** The terms of the lease (pacing) have changed: they are asked for now. Nobody waits for the answer. */
  'renew',
  'restart',
  'logout',
  'edit',
  'delete',
  'react',
  'pair',
  'check-contact',
  'read',
  'presence',
] as const;
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

const NONCE = 12;
const TAG = 16;

/** The fields of the stream entry: the arguments are ciphertext, the others are authenticated with them. */
export function encodeCommand(command: Command, key: Uint8Array): Record<string, string> {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(frameOf(command));
  const body = Buffer.concat([cipher.update(command.args, 'utf8'), cipher.final()]);
  return {
    id: command.id,
    name: command.name,
    args: Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64'),
    deadline: String(command.deadline),
    requester: command.requester,
  };
}

/** Null for an entry that is malformed or not sealed with the key. */
export function decodeCommand(fields: Record<string, string>, key: Uint8Array): Command | null {
  const { id, name, args, deadline, requester } = fields;
  if (!id || !name || !args || !deadline || !requester) return null;
  if (!(COMMANDS as readonly string[]).includes(name)) return null;
  const frame = { id, name: name as CommandName, deadline: Number(deadline), requester };
  const opened = openArgs(frame, Buffer.from(args, 'base64'), key);
  return opened === null ? null : { ...frame, args: opened };
}

function openArgs(frame: Omit<Command, 'args'>, sealed: Buffer, key: Uint8Array): string | null {
  if (sealed.length < NONCE + TAG) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE))
    .setAAD(frameOf(frame))
    .setAuthTag(sealed.subarray(NONCE, NONCE + TAG));
  try {
    return decipher.update(sealed.subarray(NONCE + TAG), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return null;
  }
}

function frameOf({ id, name, deadline, requester }: Omit<Command, 'args'>): Buffer {
  return Buffer.from(JSON.stringify([id, name, String(deadline), requester]));
}
