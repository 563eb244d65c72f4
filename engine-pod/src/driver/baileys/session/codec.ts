import { BufferJSON, proto } from '@whiskeysockets/baileys';

/** Values of the session as bytes of the store: JSON, with buffers as Baileys writes them. */
export function encode(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value, BufferJSON.replacer));
}

export function decode(type: string, bytes: Buffer): unknown {
  const value = JSON.parse(bytes.toString('utf8'), BufferJSON.reviver) as unknown;
  // Methods of the library are called on it.
  return type === 'app-state-sync-key'
    ? proto.Message.AppStateSyncKeyData.fromObject(value as Record<string, unknown>)
    : value;
}
