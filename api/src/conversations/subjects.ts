import type { Queryable } from '../database/database.js';

/** Keeps the subjects that an instance has reported of its groups, for those with a conversation. */
export async function storeSubjects(
  db: Queryable,
  instanceId: string,
  groups: readonly { id: string; subject: string }[],
): Promise<void> {
  if (groups.length === 0) return;
  const subjects = new Map(groups.map(({ id, subject }) => [id, subject]));
  await db.$executeRaw`
    WITH changed AS MATERIALIZED (
      SELECT v.id, g.subject
      FROM unnest(${[...subjects.keys()]}::text[], ${[...subjects.values()]}::text[]) AS g(id, subject)
      JOIN conversations v ON v.instance_id = ${instanceId}::uuid AND v.group_id = g.id
      WHERE v.subject IS DISTINCT FROM g.subject
      ORDER BY v.id FOR NO KEY UPDATE OF v
    )
    UPDATE conversations v SET subject = c.subject FROM changed c WHERE v.id = c.id`;
}
