import type { Database } from '@gwk/api/database/database';

/** Messages on days that their conversations do not record. Lists filtered by phone would miss them. */
export async function messagesOnUnknownDays(database: Database): Promise<string[]> {
  const rows = await database.$queryRaw<{ id: string }[]>`
    SELECT m.id FROM messages m JOIN conversations v ON v.id = m.conversation_id
    WHERE gwk_id_day(m.id) <> ALL (v.days)`;
  return rows.map(({ id }) => id);
}
