import { Problem } from '@gwk/core/problems/problems';
import { EDIT_FAILURES } from '@gwk/core/protocol/commands';
import { parseRecipient } from '@gwk/core/ids/recipients';
import { GroupDetailsOut, GroupMemberOut, GroupOut } from '@gwk/core/resources/group';
import { z } from 'zod';
import type { PageRange } from '../database/keyset-pages.js';
import { storeSubjects } from '../conversations/subjects.js';
import type { Instance } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import { readKnownMembers } from '../message-status/member-usernames.js';
import { askEngine, DEADLINES, readReply, unavailable } from '../engine-commands/ask-engine.js';

/** The network is asked for unknown groups, and many queries can lead to a ban. */
const REQUESTS_A_MINUTE = 60;
/** A community has at most 5,000 members. */
const MAX_MEMBERS = 20_000;

/** An engine of the former release states nothing of communities. */
const COMMUNITY = {
  is_community: GroupOut.shape.is_community.default(false),
  parent: GroupOut.shape.parent.default(null),
};
const ListReply = z.object({ items: z.array(GroupOut.extend(COMMUNITY)), next: z.string().nullable() });
const GroupReply = z.object({
  group: GroupDetailsOut.omit({ members: true }).extend(COMMUNITY),
  /** An engine of the former release states no usernames. */
  members: z.array(GroupMemberOut.extend({ username: GroupMemberOut.shape.username.default(null) })),
  /** Last member of this reply if others follow. */
  next: z.string().nullable(),
});

interface GroupRow {
  id: string;
  group: GroupOut;
}

/**
 * Reads groups in the order of their ids.
 * @returns `isFull`: whether the reply ended because of its size
 * @throws Problem `rate-limited`, `engine-unavailable`
 */
export async function listGroups(
  services: Services,
  row: Instance,
  { before: after, limit }: PageRange,
): Promise<{ rows: GroupRow[]; isFull: boolean }> {
  await limitRequests(services, row);
  const reply = ListReply.parse(await askEngine(services, row, 'groups', { after, limit }));
  const rows = reply.items.map((group) => ({ id: group.jid, group }));
  await storeSubjects(
    services.db,
    row.id,
    reply.items.map(({ jid, subject }) => ({ id: jid, subject })),
  );
  return { rows, isFull: reply.next !== null };
}

/**
 * Reads a group with all its members, which may need several replies of the engine.
 * @throws Problem `not-found`, `rate-limited`, `engine-unavailable`
 */
export async function findGroup(services: Services, row: Instance, jid: string): Promise<GroupDetailsOut> {
  if (parseRecipient(jid)?.kind !== 'group') throw notFound();
  await limitRequests(services, row);
  const { clock } = services;
  const end = clock.now() + DEADLINES.group;
  const members: GroupMemberOut[] = [];
  let after: string | null = null;
  do {
    const timeoutMs = Math.max(0, end - clock.now());
    const reply = await readReply(services, row, { name: 'group', args: { jid, after }, timeoutMs });
    if (!reply?.ok) throw reply?.code === EDIT_FAILURES.refused ? notFound() : unavailable();
    const part = GroupReply.parse(reply.result);
    members.push(...part.members);
    after = part.next;
    if (after !== null) continue;
    await storeSubjects(services.db, row.id, [{ id: jid, subject: part.group.subject }]);
    return { ...part.group, members: await nameMembers(services, row, members) };
  } while (members.length <= MAX_MEMBERS);
  throw unavailable();
}

/** Adds usernames and phone numbers that the network did not state with the group, for example of a community. */
async function nameMembers(
  { db }: Services,
  { id: instanceId, accountId }: Instance,
  members: readonly GroupMemberOut[],
): Promise<GroupMemberOut[]> {
  const unnamed = members.flatMap(({ lid, phone, username }) =>
    lid === null || (phone !== null && username !== null) ? [] : [{ accountId, instanceId, lid }],
  );
  const find = await readKnownMembers(db.queryRows, unnamed);
  return members.map((member) => {
    const known = member.lid === null ? null : find({ instanceId, lid: member.lid });
    const { phone = null, username = null } = known ?? {};
    return { ...member, phone: member.phone ?? phone, username: member.username ?? username };
  });
}

const notFound = (): Problem =>
  new Problem('not-found', {
    detail: {
      pt: 'O grupo não existe, ou o número desta instância não participa dele.',
      en: 'The group does not exist, or the number of this instance is no member of it.',
    },
  });

async function limitRequests({ limiter }: Services, { id }: Instance): Promise<void> {
  const { allowed, reset } = await limiter.count(`groups:${id}`, REQUESTS_A_MINUTE);
  if (allowed) return;
  const detail = {
    pt: `Até ${REQUESTS_A_MINUTE} consultas de grupos por minuto por instância.`,
    en: `At most ${REQUESTS_A_MINUTE} requests about groups a minute and instance.`,
  };
  throw new Problem('rate-limited', { retryAfter: reset, detail });
}
