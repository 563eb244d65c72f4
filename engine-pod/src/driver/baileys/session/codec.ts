import { BufferJSON, proto } from '@whiskeysockets/baileys';

/** Of each message several sessions are read: they hold no bytes, only text, and need no look at each value. */
const PLAIN = 'session';
const BYTES = '"Buffer"';

/** Values of the session as bytes of the store: JSON, with buffers as Baileys writes them. */
export function encodeValue(type: string, value: unknown): Buffer {
  const plain = type === PLAIN ? JSON.stringify(value) : BYTES;
  return Buffer.from(plain.includes(BYTES) ? JSON.stringify(value, BufferJSON.replacer) : plain);
}

export function decodeValue(type: string, bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  if (type === PLAIN && !text.includes(BYTES)) return JSON.parse(text) as unknown;
  const value = JSON.parse(text, BufferJSON.reviver) as unknown;
  // Methods of the library are called on it.
  return type === 'app-state-sync-key'
    ? proto.Message.AppStateSyncKeyData.fromObject(value as Record<string, unknown>)
    : value;
}
