import type { QuotedMessage } from '@gwk/core/protocol/engine';
import { extractText, type OutboundContent } from '@gwk/core/resources/message';
import type { Sealer } from '@gwk/core/encryption';
import type { Queryable } from '../database/database.js';
import { buildChat, openEventData } from '../events/emit.js';
import { firstEventId } from '../inbound/arrival.js';
import { openContent } from './content.js';

interface QuoteDependencies {
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
  /** Data of the event of an inbound message. */
  event_sealed: Uint8Array | null;
}

/**
 * Builds quotes from stored messages. The text of an outbound message comes from its content, that of an inbound message
 * from its event. A message whose text has been deleted is quoted by its id with an empty text.
 * @returns by message id, without unknown messages
 */
export async function readQuotes(
  { database, sealer }: QuoteDependencies,
  ids: readonly string[],
): Promise<Map<string, QuotedMessage>> {
  if (ids.length === 0) return new Map();
  const rows = await database.$queryRaw<QuotedRow[]>`SELECT * FROM gwk_quoted_messages(
    ${[...ids]}::uuid[], ${ids.map((id) => firstEventId(id))}::uuid[])`;
  return new Map(rows.map((row) => [row.id, buildQuote(sealer, row)]));
}

function buildQuote(sealer: Sealer, row: QuotedRow): QuotedMessage {
  const fromMe = row.direction === 'outbound';
  return {
    wa_message_id: row.wa_message_id,
    chat: buildChat({ groupId: row.group_id, contactName: row.contact_name }).id,
    from_me: fromMe,
    participant: fromMe ? null : row.participant,
    type: row.type,
    text: row.deleted ? '' : (readText(sealer, row) ?? ''),
  };
}

/** Returns null for unreadable text, because a quote must not block the message that contains it. */
function readText(sealer: Sealer, row: QuotedRow): string | null {
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
