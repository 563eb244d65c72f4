import type { Received } from '../people/inbox.js';
import type { StanzaEntry } from '../record/record.js';
import { textOfMessage } from '../people/contents.js';
import type { Node } from '../wire/nodes.js';

/** A node in JSON form, with bytes in base64. */
export interface StanzaView {
  tag: string;
  attrs: Record<string, string>;
  content?: StanzaView[] | { base64: string } | string;
}

export type EntryView = Omit<StanzaEntry, 'stanza'> & { stanza: StanzaView };

/** A received message in JSON form, with its readable text. */
export type ReceivedView = Omit<Received, 'message'> & {
  text?: string;
  message?: Record<string, unknown>;
};

export function viewStanza({ tag, attrs, content }: Node): StanzaView {
  if (Array.isArray(content)) return { tag, attrs, content: content.map(viewStanza) };
  if (content instanceof Uint8Array) {
    return { tag, attrs, content: { base64: Buffer.from(content).toString('base64') } };
  }
  return content === undefined ? { tag, attrs } : { tag, attrs, content };
}

export const viewEntry = (entry: StanzaEntry): EntryView => ({ ...entry, stanza: viewStanza(entry.stanza) });

export function viewReceived({ message, ...entry }: Received): ReceivedView {
  const text = textOfMessage(message);
  return {
    ...entry,
    ...(text !== undefined && { text }),
    ...(message && { message: JSON.parse(JSON.stringify(message)) as Record<string, unknown> }),
  };
}
