import { Prisma } from '../generated/prisma/client.js';
import type { QueryRows } from '../database/database.js';
import type { EventDraft } from '../events/emit.js';

interface Member {
  accountId: string;
  instanceId: string;
  lid: string;
}

/** Reads the usernames of members of groups, of those that their instance knows from a direct chat. */
export async function readUsernames(
  queryRows: QueryRows,
  members: readonly Member[],
): Promise<(member: Omit<Member, 'accountId'>) => string | null> {
  if (members.length === 0) return () => null;
  const rows = await queryRows<{ instance_id: string; name: string; username: string }>(Prisma.sql`
    SELECT v.instance_id, n.name, v.username
    FROM unnest(${members.map(({ accountId }) => accountId)}::uuid[],
      ${members.map(({ instanceId }) => instanceId)}::uuid[], ${members.map(({ lid }) => lid)}::text[])
      AS m(account_id, instance_id, lid)
    JOIN contact_names n ON n.account_id = m.account_id AND n.name = m.lid
    JOIN conversations v ON v.instance_id = m.instance_id AND v.contact_id = n.contact_id
    WHERE v.username IS NOT NULL`);
  const found = new Map(rows.map(({ instance_id, name, username }) => [`${instance_id} ${name}`, username]));
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
  const findUsername = await readUsernames(queryRows, unnamed);
  for (const member of unnamed) member.data['participant_username'] = findUsername(member);
}
