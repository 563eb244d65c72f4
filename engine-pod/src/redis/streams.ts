import type { Reply } from './resp.js';

export interface StreamEntry {
  id: string;
  fields: Record<string, string>;
}

/** Parses the reply to an XREADGROUP of one stream; empty when it timed out. */
export function parseReadReply(reply: Reply): StreamEntry[] {
  const stream = Array.isArray(reply) ? reply[0] : null;
  return Array.isArray(stream) ? parseEntries(stream[1] ?? null) : [];
}

/** Parses a list of entries. */
export function parseEntries(list: Reply): StreamEntry[] {
  return Array.isArray(list) ? list.flatMap(parseEntry) : [];
}

function parseEntry(item: Reply): StreamEntry[] {
  if (!Array.isArray(item) || typeof item[0] !== 'string') return [];
  const [id, values] = item;
  // An entry that was deleted after its delivery comes back without fields.
  const list = Array.isArray(values) ? values : [];
  const fields: Record<string, string> = {};
  for (let i = 0; i + 1 < list.length; i += 2) fields[String(list[i])] = String(list[i + 1]);
  return [{ id, fields }];
}
