import type { QuotedMessage } from '@gwk/core/protocol/engine';
import { extractText, type OutboundContent } from '@gwk/core/resources/message';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { Queryable } from '../database/database.js';
import { toFields } from '../database/model-columns.js';
import { identify, openEventData } from '../events/emit.js';
import type { Message } from '../generated/prisma/client.js';
import { firstEventId } from '../events/event-ids.js';
import { openCard, openContent } from './content.js';

interface QuoteDependencies {
  database: Queryable;
  sealer: Sealer;
}

type QuotedFields =
  | 'id'
  | 'accountId'
  | 'instanceId'
  | 'conversationId'
  | 'to'
  | 'direction'
  | 'waMessageId'
  | 'participant'
  | 'type';

interface QuotedRow extends Pick<Message, QuotedFields> {
  deleted: boolean;
  groupId: string | null;
  lid: string | null;
  phone: string | null;
  contentSealed: Uint8Array | null;
  /** Data of the event of the last edit by a phone, or of an inbound message. */
  eventSealed: Uint8Array | null;
  cardSealed: Uint8Array | null;
}

/**
 * Builds quotes from stored messages. The text of a message that gwk sent comes from its content, that of others and of an
 * edit by a phone from its event. A message whose text has been deleted has an empty text; its card is kept longer.
 * @returns by message id, without unknown messages
 */
export async function readQuotes(
  { database, sealer }: QuoteDependencies,
  ids: readonly string[],
): Promise<Map<string, { conversationId: string; quote: QuotedMessage }>> {
  if (ids.length === 0) return new Map();
  const rows = toFields<QuotedRow>(
    await database.$queryRaw`SELECT * FROM gwk_quoted_messages(
      ${[...ids]}::uuid[], ${ids.map((id) => firstEventId(id))}::uuid[])`,
  );
  return new Map(
    rows.map((row) => [row.id, { conversationId: row.conversationId, quote: buildQuote(sealer, row) }]),
  );
}

function buildQuote(sealer: Sealer, row: QuotedRow): QuotedMessage {
  const fromMe = row.direction === 'outbound';
  const chat = row.groupId ?? identify(row.to, row).id;
  return {
    wa_message_id: row.waMessageId!,
    chat,
    from_me: fromMe,
    participant: fromMe ? null : (row.participant ?? chat),
    type: row.type,
    ...(row.deleted ? { text: '' } : readContent(sealer, row)),
  };
}

/** Without what is unreadable, because a quote must not block the message that contains it. */
function readContent(sealer: Sealer, row: QuotedRow): Pick<QuotedMessage, 'text' | 'card'> {
  const text = readText(sealer, row) ?? '';
  try {
    return { text, ...(row.cardSealed && { card: openCard(sealer, row.instanceId, row.cardSealed) }) };
  } catch {
    return { text };
  }
}

/** Returns null for unreadable text. */
function readText(sealer: Sealer, row: QuotedRow): string | null {
  try {
    if (row.eventSealed) {
      const { text } = openEventData(sealer, row.accountId, row.eventSealed);
      return typeof text === 'string' ? text : null;
    }
    if (!row.contentSealed) return null;
    return extractText(JSON.parse(openContent(sealer, row.instanceId, row.contentSealed)) as OutboundContent);
  } catch {
    return null;
  }
}
