import { proto, type BinaryNode } from '@whiskeysockets/baileys';
import type { DriverContext } from '../../driver.js';

/** A message as it is stored before its first stanza, and sent on each attempt. */
export interface BuiltMessage {
  message: proto.IMessage;
  /** The chat it was built for. It is never resent to anybody else. */
  chat?: string;
  /** Children of the stanza besides the encrypted message. */
  nodes?: BinaryNode[];
  /** Attributes of the stanza besides the usual ones. */
  attributes?: Record<string, string>;
}

const LENGTH_BYTES = 4;

/** Format: a 4-byte length, the stanza's parts as JSON, then the message in the network's encoding. */
export function encodeBuiltMessage({ message, ...parts }: BuiltMessage): Buffer {
  const stanza = Buffer.from(JSON.stringify(parts));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(stanza.length);
  return Buffer.concat([length, stanza, proto.Message.encode(message).finish()]);
}

export function decodeBuiltMessage(bytes: Buffer): BuiltMessage {
  const end = LENGTH_BYTES + bytes.readUInt32BE(0);
  const stanza = JSON.parse(bytes.subarray(LENGTH_BYTES, end).toString()) as Omit<BuiltMessage, 'message'>;
  return { ...stanza, message: proto.Message.decode(bytes.subarray(end)) };
}

/** The secret of a sent poll: as it was stored with it, else in the message itself. */
export async function readPollSecret(
  { readPoll }: Pick<DriverContext, 'readPoll'>,
  waMessageId: string,
): Promise<Uint8Array | null> {
  const { secret, built } = await readPoll(waMessageId.slice(0, MAX_ID));
  if (secret) return secret;
  return (built && decodeBuiltMessage(built).message.messageContextInfo?.messageSecret) ?? null;
}

const MAX_ID = 200;
