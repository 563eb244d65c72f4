import { BufferJSON, proto } from '@whiskeysockets/baileys';

/** Several sessions are read for each message. They contain text only, so their values need no reviver. */
export const SESSION = 'session';
const BYTES = '"Buffer"';

/** Encodes values for the store: JSON, with buffers in Baileys' form. */
export function encodeValue(type: string, value: unknown): Buffer {
  const plain = type === SESSION ? JSON.stringify(value) : BYTES;
  return Buffer.from(plain.includes(BYTES) ? JSON.stringify(value, BufferJSON.replacer) : plain);
}

export function decodeValue(type: string, bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  if (type === SESSION && !text.includes(BYTES)) return JSON.parse(text) as unknown;
  const value = JSON.parse(text, BufferJSON.reviver) as unknown;
  // Baileys calls methods of this type.
  return type === 'app-state-sync-key'
    ? proto.Message.AppStateSyncKeyData.fromObject(value as Record<string, unknown>)
    : value;
}
