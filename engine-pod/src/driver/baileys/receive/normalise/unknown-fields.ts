import { proto } from '@whiskeysockets/baileys';
import { isWrapper } from './unwrap.js';

/** Content that the protobuf of this version does not know. Protobuf drops such fields without a word. */
export interface UnknownContent {
  /** The message in an unknown wrapper; null: something else. */
  message: proto.IMessage | null;
}

const MAX_DEPTH = 10;
const MAX_FIELDS = 100;
/** On all levels together. A hostile message has many wrappers on each level. */
const MAX_WRAPPERS = 1_000;
const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;
/** Number of the field that contains the message. */
const MESSAGE_IN = { wrapper: 1, deviceSentMessage: 2 } as const;

interface Field {
  number: number;
  /** The whole field. */
  bytes: Uint8Array;
  /** Null for other types than bytes. */
  payload: Uint8Array | null;
}

/**
 * Finds unknown content in an encoded message, also inside known wrappers. Null when there is none. It reads only a
 * message in which protobuf found no content.
 */
export function findUnknownContent(encoded: Uint8Array): UnknownContent | null {
  return search(encoded, { depth: 0, opened: { count: 0 } });
}

interface SearchDepth {
  depth: number;
  /** Counts the wrappers of all levels. */
  opened: { count: number };
}

function search(encoded: Uint8Array, place: SearchDepth): UnknownContent | null {
  const { depth, opened } = place;
  opened.count += 1;
  if (depth > MAX_DEPTH || opened.count > MAX_WRAPPERS) return null;
  for (const { bytes, payload } of readFields(encoded)) {
    if (payload === null) continue;
    const [known] = Object.entries(proto.Message.decode(bytes)) as [string, unknown][];
    if (!known) {
      const inner = findPayload(payload, MESSAGE_IN.wrapper);
      return inner ? openWrapper(inner, place) : { message: null };
    }
    const [field, content] = known;
    const number = field === 'deviceSentMessage' ? MESSAGE_IN.deviceSentMessage : MESSAGE_IN.wrapper;
    const nested = isWrapper(field, content) ? findPayload(payload, number) : null;
    const found = nested && search(nested, { depth: depth + 1, opened });
    if (found) return found;
  }
  return null;
}

/** A message in an unknown wrapper; it may itself contain an unknown wrapper. */
function openWrapper(encoded: Uint8Array, { depth, opened }: SearchDepth): UnknownContent {
  try {
    const message = proto.Message.decode(encoded);
    if (Object.keys(message).length > 0) return { message };
    return search(encoded, { depth: depth + 1, opened }) ?? { message: null };
  } catch {
    // The bytes are something else than a message.
    return { message: null };
  }
}

function findPayload(encoded: Uint8Array, number: number): Uint8Array | null {
  return readFields(encoded).find((field) => field.number === number)?.payload ?? null;
}

/** The fields of an encoded message, until one that cannot be read. */
function readFields(encoded: Uint8Array): Field[] {
  const fields: Field[] = [];
  for (let at = 0; at < encoded.length && fields.length < MAX_FIELDS;) {
    const tag = readVarint(encoded, at);
    const content = tag && findContent(encoded, tag.end, tag.value & 7);
    if (!content || content.end > encoded.length) break;
    const payload = (tag.value & 7) === BYTES ? encoded.subarray(content.start, content.end) : null;
    fields.push({ number: tag.value >>> 3, bytes: encoded.subarray(at, content.end), payload });
    at = content.end;
  }
  return fields;
}

function findContent(bytes: Uint8Array, start: number, type: number): { start: number; end: number } | null {
  if (type === FIXED_64) return { start, end: start + 8 };
  if (type === FIXED_32) return { start, end: start + 4 };
  const varint = readVarint(bytes, start);
  if (varint === null) return null;
  if (type === VARINT) return { start, end: varint.end };
  return type === BYTES ? { start: varint.end, end: varint.end + varint.value } : null;
}

/** Tags and lengths have at most 32 bits. Longer values are skipped, so their number does not matter. */
function readVarint(bytes: Uint8Array, start: number): { value: number; end: number } | null {
  let value = 0;
  for (let at = start; at < bytes.length && at < start + 10; at++) {
    value += (bytes[at]! & 0x7f) * 2 ** (7 * (at - start));
    if (bytes[at]! < 0x80) return { value, end: at + 1 };
  }
  return null;
}
