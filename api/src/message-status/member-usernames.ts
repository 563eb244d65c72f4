import { Prisma } from '../generated/prisma/client.js';
import type { QueryRows } from '../database/database.js';
import type { EventDraft } from '../events/emit.js';

interface Member {
  accountId: string;
  instanceId: string;
  lid: string;
}

interface KnownMember {
  username: string | null;
  phone: string | null;
}

/**
 * Reads what is known of members of groups: the username from a direct chat of their instance, and the phone number from any
 * report of the account's engines.
 */
export async function readKnownMembers(
  queryRows: QueryRows,
  members: readonly Member[],
): Promise<(member: Omit<Member, 'accountId'>) => KnownMember | null> {
  if (members.length === 0) return () => null;
  const rows = await queryRows<KnownMember & { instance_id: string; name: string }>(Prisma.sql`
    SELECT m.instance_id, n.name, v.username, (
      SELECT p.phone FROM contact_names p WHERE p.contact_id = n.contact_id AND p.phone IS NOT NULL
      ORDER BY p.linked_at DESC NULLS LAST LIMIT 1) AS phone
    FROM unnest(${members.map(({ accountId }) => accountId)}::uuid[],
      ${members.map(({ instanceId }) => instanceId)}::uuid[], ${members.map(({ lid }) => lid)}::text[])
      AS m(account_id, instance_id, lid)
    JOIN contact_names n ON n.account_id = m.account_id AND n.name = m.lid
    LEFT JOIN conversations v ON v.instance_id = m.instance_id AND v.contact_id = n.contact_id`);
  const found = new Map(rows.map((row) => [`${row.instance_id} ${row.name}`, row]));
  return ({ instanceId, lid }) => found.get(`${instanceId} ${lid}`) ?? null;
}

/** Adds the username of the member who caused a status to its event, if the receipt did not state it. */
export async function nameMembers(queryRows: QueryRows, drafts: readonly EventDraft[]): Promise<void> {
  const unnamed = drafts.flatMap(({ accountId, instanceId, data }) => {
    const { participant: lid, participant_username: username } = data;
    return instanceId !== null && username === null && typeof lid === 'string'
      ? [{ accountId, instanceId, lid, data }]
      : [];
  });
  const find = await readKnownMembers(queryRows, unnamed);
  for (const member of unnamed) member.data['participant_username'] = find(member)?.username ?? null;
}
