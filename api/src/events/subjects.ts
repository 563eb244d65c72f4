import type { Queryable } from '../database/database.js';
import { buildChat, type MessageSubject } from './emit.js';

interface SubjectRow {
  message_id: string;
  account_id: string;
  instance_id: string;
  wa_message_id: string | null;
  group_id: string | null;
  contact_name: string | null;
}

/** Reads the event subjects of messages by id. Deleted messages are missing in the result. */
export async function readMessageSubjects(
  db: Queryable,
  messageIds: readonly string[],
): Promise<Map<string, MessageSubject>> {
  if (messageIds.length === 0) return new Map();
  const rows = await db.$queryRaw<SubjectRow[]>`
    SELECT m.id AS message_id, m.account_id, m.instance_id, m.wa_message_id, c.group_id,
      gwk_contact_name(c.contact_id) AS contact_name
    FROM unnest(${messageIds}::uuid[]) AS wanted(id)
    JOIN messages m ON m.id = wanted.id
    JOIN conversations c ON c.id = m.conversation_id`;
  return new Map(rows.map((row) => [row.message_id, toMessageSubject(row)]));
}

export function toMessageSubject(row: SubjectRow): MessageSubject {
  return {
    accountId: row.account_id,
    instanceId: row.instance_id,
    messageId: row.message_id,
    waMessageId: row.wa_message_id,
    chat: buildChat({ groupId: row.group_id, contactName: row.contact_name }),
  };
}
