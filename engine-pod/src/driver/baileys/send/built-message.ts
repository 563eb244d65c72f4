import { proto, type BinaryNode } from '@whiskeysockets/baileys';

/** A message as it is stored before its first stanza, and sent each time. */
export interface BuiltMessage {
  message: proto.IMessage;
  /** For whom it was built: nobody else is sent it. */
  chat?: string;
  /** Children of the stanza beside the encrypted message. */
  nodes?: BinaryNode[];
  /** Attributes of the stanza beside the usual. */
  attributes?: Record<string, string>;
}

const LENGTH_BYTES = 4;

/** How the stanza looks, in JSON, with its length before it; then the message as the network encodes it. */
export function encodeBuiltMessage({ message, ...how }: BuiltMessage): Buffer {
  const stanza = Buffer.from(JSON.stringify(how));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(stanza.length);
  return Buffer.concat([length, stanza, proto.Message.encode(message).finish()]);
}

export function decodeBuiltMessage(bytes: Buffer): BuiltMessage {
  const end = LENGTH_BYTES + bytes.readUInt32BE(0);
  const stanza = JSON.parse(bytes.subarray(LENGTH_BYTES, end).toString()) as Omit<BuiltMessage, 'message'>;
  return { ...stanza, message: proto.Message.decode(bytes.subarray(end)) };
}
