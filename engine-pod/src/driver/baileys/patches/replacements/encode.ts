import type { BinaryNode } from '@whiskeysockets/baileys';
import { TAGS, TOKEN_MAP } from '@whiskeysockets/baileys/lib/WABinary/constants.js';
import { jidDecode } from '@whiskeysockets/baileys/lib/WABinary/jid-utils.js';

const NIBBLES = /^[\d.-]+$/;
const HEX = /^[\dA-F]+$/;
const NIBBLE_OF: Record<string, number> = { '-': 10, '.': 11 };
const NO_NIBBLE = 15;
/** First byte of a frame. */
const NOT_COMPRESSED = 0;
/** First size of the buffer; it grows. */
const STANZA_BYTES = 1024;

/**
 * Baileys' encoding of a stanza, written into bytes. Stock collects numbers in an array, and makes an object for each byte
 * of content. This was an eighth of what an engine allocated for a text.
 * @throws Error if a node has no tag, content of another type, or more than 65,535 children
 */
export function encodeBinaryNode(node: BinaryNode): Buffer {
  const writer = new StanzaWriter();
  writer.byte(NOT_COMPRESSED);
  writer.node(node);
  return writer.finish();
}

class StanzaWriter {
  #bytes = Buffer.allocUnsafe(STANZA_BYTES);
  #length = 0;

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  node({ tag, attrs, content }: BinaryNode): void {
    if (!tag) throw new Error('Invalid node: tag cannot be undefined');
    const given = Object.entries(attrs ?? {}).filter(([, value]) => value !== undefined && value !== null);
    this.#listStart(2 * given.length + 1 + (content === undefined ? 0 : 1));
    this.#string(tag);
    for (const [name, value] of given) {
      // Stock counts other values too, and does not write them.
      if (typeof value !== 'string') continue;
      this.#string(name);
      this.#string(value);
    }
    if (typeof content === 'string') this.#string(content);
    else if (content instanceof Uint8Array) this.#content(content);
    else if (Array.isArray(content)) this.#children(content);
    else if (content !== undefined)
      throw new Error(`invalid children for header "${tag}": ${String(content)} (${typeof content})`);
  }

  #children(nodes: readonly BinaryNode[]): void {
    // Strings and bytes are counted, and then refused, because they have no tag: as by stock.
    const valid = nodes.filter(
      (node: unknown) => isNode(node) || node instanceof Uint8Array || (typeof node === 'string' && node),
    );
    this.#listStart(valid.length);
    for (const node of valid) this.node(node);
  }

  #listStart(size: number): void {
    if (size === 0) this.byte(TAGS.LIST_EMPTY);
    else if (size < 256) this.#integer(TAGS.LIST_8, size, 1);
    else this.#integer(TAGS.LIST_16, size, 2);
  }

  #string(text: string): void {
    const token = text === '' ? undefined : TOKEN_MAP[text];
    if (token) {
      if (typeof token.dict === 'number') this.byte(TAGS.DICTIONARY_0 + token.dict);
      this.byte(token.index);
    } else if (text.length <= TAGS.PACKED_MAX && NIBBLES.test(text)) this.#packed(TAGS.NIBBLE_8, text);
    else if (text.length <= TAGS.PACKED_MAX && HEX.test(text)) this.#packed(TAGS.HEX_8, text);
    else this.#addressOrText(text);
  }

  /** Two characters a byte. */
  #packed(tag: number, text: string): void {
    this.byte(tag);
    this.byte(Math.ceil(text.length / 2) | (text.length % 2 === 0 ? 0 : 128));
    for (let at = 0; at < text.length; at += 2)
      this.byte((toNibble(text[at]!) << 4) | (at + 1 < text.length ? toNibble(text[at + 1]!) : NO_NIBBLE));
  }

  #addressOrText(text: string): void {
    const address = jidDecode(text);
    if (!address) return this.#text(text);
    const { user, server, device, domainType } = address;
    if (device !== undefined) {
      this.byte(TAGS.AD_JID);
      this.byte(domainType ?? 0);
      this.byte(device);
      this.#string(user);
    } else {
      this.byte(TAGS.JID_PAIR);
      if (user === '') this.byte(TAGS.LIST_EMPTY);
      else this.#string(user);
      this.#string(server);
    }
  }

  #text(text: string): void {
    const length = Buffer.byteLength(text);
    this.#byteLength(length);
    this.#reserve(length);
    this.#length += this.#bytes.write(text, this.#length);
  }

  #content(bytes: Uint8Array): void {
    this.#byteLength(bytes.length);
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #byteLength(length: number): void {
    if (length >= 1 << 20) this.#integer(TAGS.BINARY_32, length, 4);
    else if (length >= 256) this.#integer(TAGS.BINARY_20, length, 3);
    else this.#integer(TAGS.BINARY_8, length, 1);
  }

  #integer(tag: number, value: number, bytes: number): void {
    this.#reserve(1 + bytes);
    this.#bytes[this.#length++] = tag;
    this.#length = this.#bytes.writeUIntBE(value, this.#length, bytes);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

const isNode = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Boolean((value as Partial<BinaryNode>).tag);

const toNibble = (character: string): number => NIBBLE_OF[character] ?? parseInt(character, 16);
