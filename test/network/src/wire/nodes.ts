import type { BinaryNode } from '@whiskeysockets/baileys';

export type Node = BinaryNode;

/** Creates a node. Attributes without a value are omitted. */
export function node(
  tag: string,
  attributes: Record<string, string | undefined> = {},
  content?: Node['content'],
): Node {
  const attrs = Object.fromEntries(
    Object.entries(attributes).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return content === undefined ? { tag, attrs } : { tag, attrs, content };
}

export function children(parent: Node | undefined, tag?: string): Node[] {
  if (!Array.isArray(parent?.content)) return [];
  return tag === undefined ? parent.content : parent.content.filter((one) => one.tag === tag);
}

export function child(parent: Node | undefined, tag: string): Node | undefined {
  return children(parent, tag)[0];
}

/** The content of a node as bytes. Throws a protocol error if there are none. */
export function readBytes(of: Node | undefined, what: string): Buffer {
  if (of?.content instanceof Uint8Array) return Buffer.from(of.content);
  if (typeof of?.content === 'string') return Buffer.from(of.content);
  throw new ProtocolError(`${what} has no bytes`);
}

export function readText(of: Node | undefined): string {
  if (of?.content instanceof Uint8Array) return Buffer.from(of.content).toString('utf8');
  return typeof of?.content === 'string' ? of.content : '';
}

export function readNumber(of: Node | undefined, what: string): number {
  const bytes = readBytes(of, what);
  if (bytes.length === 0 || bytes.length > 6) throw new ProtocolError(`${what} is not a number`);
  return bytes.readUIntBE(0, bytes.length);
}

export function bigEndian(value: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  bytes.writeUIntBE(value, 0, length);
  return bytes;
}

export function seconds(at = Date.now()): string {
  return String(Math.floor(at / 1000));
}

/** A protocol violation by a client. The stanza is refused, or the connection closed. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}
