import type { QuotedMessage } from '@gwk/core/protocol/engine';
import { textOf, type OutboundContent } from '@gwk/core/resources/message';
import type { Sealer } from '@gwk/core/sealing';
import type { Queryable } from '../database.js';
import { chatOf, openEventData } from '../events/emit.js';
import { openContent } from './content.js';

/**
 * Quotes, made from what is stored (design: quote of content that is gone): the text of what we sent while its content
 * is kept, that of what came in from its event. What is gone is quoted by its id with an empty text.
 */
export interface QuoteDeps {
  database: Queryable;
  sealer: Sealer;
}

interface QuotedRow {
  id: string;
  account_id: string;
  instance_id: string;
  direction: string;
  wa_message_id: string;
  participant: string | null;
  type: string;
  deleted: boolean;
  group_id: string | null;
  contact_name: string | null;
  content_sealed: Uint8Array | null;
  /** The events that follow a message that came in: its own is among the first. */
  events: Uint8Array[] | null;
}

/** @returns by id; those that are not there are missing */
export async function readQuotes(
  { database, sealer }: QuoteDeps,
  ids: readonly string[],
): Promise<Map<string, QuotedMessage>> {
  if (ids.length === 0) return new Map();
  const rows = await database.$queryRaw<QuotedRow[]>`SELECT * FROM gwk_quoted_messages(${[...ids]}::uuid[])`;
  return new Map(rows.map((row) => [row.id, quoteOf(sealer, row)]));
}

function quoteOf(sealer: Sealer, row: QuotedRow): QuotedMessage {
  const fromMe = row.direction === 'outbound';
  return {
    wa_message_id: row.wa_message_id,
    chat: chatOf({ groupId: row.group_id, contactName: row.contact_name }).id,
    from_me: fromMe,
    participant: fromMe ? null : row.participant,
    type: row.type,
    text: row.deleted ? '' : (storedText(sealer, row) ?? ''),
  };
}

/** Nothing that cannot be read stands in the way of the answer. */
function storedText(sealer: Sealer, row: QuotedRow): string | null {
  try {
    if (row.content_sealed) {
      return textOf(JSON.parse(openContent(sealer, row.instance_id, row.content_sealed)) as OutboundContent);
    }
    return textOfEvents(sealer, row);
  } catch {
    return null;
  }
}

function textOfEvents(sealer: Sealer, { id, account_id, events }: QuotedRow): string | null {
  const messageId = `msg_${id.replaceAll('-', '')}`;
  for (const sealed of events ?? []) {
    const { message_id, text } = openEventData(sealer, account_id, sealed);
    if (message_id === messageId) return typeof text === 'string' ? text : null;
  }
  return null;
}
