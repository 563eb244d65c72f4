import type { QuotedMessage } from '@gwk/core/protocol/engine';
import { extractText, type OutboundContent } from '@gwk/core/resources/message';
import type { Sealer } from '@gwk/core/encryption';
import type { Queryable } from '../database/database.js';
import { chatOf, openEventData } from '../events/emit.js';
import { successorOf } from '../inbound/arrival.js';
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
  /** Data of the event that told of a message that came in. */
  event_sealed: Uint8Array | null;
}

/** @returns by id; those that are not there are missing */
export async function readQuotes(
  { database, sealer }: QuoteDeps,
  ids: readonly string[],
): Promise<Map<string, QuotedMessage>> {
  if (ids.length === 0) return new Map();
  const rows = await database.$queryRaw<QuotedRow[]>`SELECT * FROM gwk_quoted_messages(
    ${[...ids]}::uuid[], ${ids.map((id) => successorOf(id))}::uuid[])`;
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
      return extractText(
        JSON.parse(openContent(sealer, row.instance_id, row.content_sealed)) as OutboundContent,
      );
    }
    if (!row.event_sealed) return null;
    const { text } = openEventData(sealer, row.account_id, row.event_sealed);
    return typeof text === 'string' ? text : null;
  } catch {
    return null;
  }
}
