import { fromPublicId, lowestUuidAt } from '@gwk/core/ids';
import { Problem } from '@gwk/core/problems';
import { parseRecipient } from '@gwk/core/recipients';
import type { MessageListQuery } from '@gwk/core/resources/message';
import type { z } from 'zod';
import { maySee, restrictionOf, type Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import { Prisma, type Message } from '../generated/prisma/client.js';
import { findFilterInstance } from '../instances/find.js';
import { lookBy, newestFirst, newestOfFew, newestQueued, type NewestPage } from '../database/keyset-pages.js';
import type { ListedMessage } from './view.js';

export type MessageFilters = Omit<z.output<typeof MessageListQuery>, 'limit' | 'cursor'>;

/** What a list is narrowed to, looked up; null: not narrowed by it. */
interface Narrowed {
  accountId: string;
  /** All of them the account's. */
  instances: string[] | null;
  /** Of those instances. */
  conversations: string[] | null;
  status: NonNullable<MessageFilters['status']> | null;
}

/**
 * Lists read as SQL and not through the client's model, which takes longer to make objects of a page than Postgres takes
 * to find it.
 */
const COLUMNS = Prisma.sql`m.id, m.instance_id AS "instanceId", m.direction, m."to", m.type, m.status,
  m.wa_message_id AS "waMessageId", m.rendered_as AS "renderedAs", m.error_code AS "errorCode",
  m.error_message AS "errorMessage", m.created_at AS "createdAt", m.scheduled_for AS "scheduledFor",
  m.sent_at AS "sentAt", m.delivered_at AS "deliveredAt", m.read_at AS "readAt", m.failed_at AS "failedAt",
  m.updated_at AS "updatedAt"`;

/**
 * Messages newest first, at most `limit` of them.
 * @throws Problem `invalid-phone`, `not-found`
 */
export async function listMessages(
  db: Database,
  caller: Caller,
  filters: MessageFilters,
  { after, limit }: { after: string | null; limit: number },
): Promise<ListedMessage[]> {
  const narrowed = await narrow(db, caller, filters);
  const from = filters.since === undefined ? null : lowestUuidAt(Date.parse(filters.since));
  const page = { from, before: after, limit };
  const { status, conversations, instances, accountId } = narrowed;
  if (conversations?.length === 0) return [];
  if (status === 'queued' || status === 'sending') return unfinished(db, narrowed, status, page);
  const look = (name: string, given: Prisma.Sql) => lookBy<ListedMessage>(db, COLUMNS, name, given);
  if (conversations)
    return newestOfFew(
      page,
      look('gwk_messages_of_conversations', Prisma.sql`${conversations}::uuid[], ${status}`),
    );
  if (status === 'failed') {
    const failed = Prisma.sql`${accountId}::uuid, ${instances}::uuid[]`;
    return newestOfFew(page, look('gwk_failed_messages', failed));
  }
  return newestFirst(
    page,
    instances
      ? look('gwk_messages_of_instances', Prisma.sql`${instances}::uuid[], ${status}`)
      : look('gwk_messages_of_account', Prisma.sql`${accountId}::uuid, ${status}`),
  );
}

async function narrow(db: Database, caller: Caller, filters: MessageFilters): Promise<Narrowed> {
  const { accountId } = caller;
  // Judged by its shape before anything is looked up.
  const recipient = filters.to === undefined ? undefined : parseRecipient(filters.to);
  if (recipient === null) throw new Problem('invalid-phone');
  let instances = restrictionOf(caller);
  if (filters.instance_id !== undefined) {
    const id = fromPublicId('instance', filters.instance_id);
    instances = [await findFilterInstance(db, caller, id)];
  }
  const conversations = recipient ? await conversationsWith(db, accountId, instances, recipient) : null;
  return { accountId, instances, conversations, status: filters.status ?? null };
}

/**
 * Messages that have not left. The queue knows them all, and is small beside the messages: no index of messages has
 * their status, so that a status changes in place.
 */
const unfinished = (
  db: Database,
  narrowed: Narrowed,
  status: 'queued' | 'sending',
  page: NewestPage,
): Promise<ListedMessage[]> =>
  newestQueued(
    page,
    (before, amount) => inQueue(db, narrowed, status, { from: page.from, before, limit: amount }),
    (ids) => db.$queryRaw<ListedMessage[]>`
      SELECT ${COLUMNS} FROM messages m WHERE m.id = ANY (${ids}::uuid[]) AND m.status = ${status} ORDER BY m.id DESC`,
  );

/** Ids in the queue, newest first. A message that may have left stays `sending` while it waits to be claimed again. */
const inQueue = (
  db: Database,
  { accountId, instances, conversations }: Narrowed,
  status: 'queued' | 'sending',
  { from, before, limit }: NewestPage,
): Promise<{ id: string }[]> =>
  db.$queryRaw`
    SELECT o.message_id AS id FROM outbox o
    WHERE o.instance_id IN (SELECT i.id FROM instances i WHERE i.account_id = ${accountId}::uuid)
      AND (${instances}::uuid[] IS NULL OR o.instance_id = ANY (${instances}::uuid[]))
      AND (${conversations}::uuid[] IS NULL OR o.conversation_id = ANY (${conversations}::uuid[]))
      AND (${from}::uuid IS NULL OR o.message_id >= ${from}::uuid)
      AND (${before}::uuid IS NULL OR o.message_id < ${before}::uuid)
      AND (o.state = 'claimed' OR o.attempted_at IS NOT NULL) = ${status === 'sending'}
    ORDER BY o.message_id DESC LIMIT ${limit}::integer`;

/** By whatever name of theirs: forms known to be equal lead to one contact. */
async function conversationsWith(
  db: Database,
  accountId: string,
  instances: string[] | null,
  recipient: NonNullable<ReturnType<typeof parseRecipient>>,
): Promise<string[]> {
  const theirs = Prisma.sql`(${instances}::uuid[] IS NULL OR v.instance_id = ANY (${instances}::uuid[]))`;
  const rows = await db.$queryRaw<{ id: string }[]>(
    recipient.kind === 'group'
      ? Prisma.sql`
          SELECT v.id FROM instances i JOIN conversations v ON v.instance_id = i.id AND v.group_id = ${recipient.name}
          WHERE i.account_id = ${accountId}::uuid AND ${theirs}`
      : Prisma.sql`
          SELECT v.id FROM contact_names n JOIN conversations v ON v.contact_id = n.contact_id
          WHERE n.account_id = ${accountId}::uuid AND n.name = ${recipient.name} AND ${theirs}`,
  );
  return rows.map(({ id }) => id);
}

/** @throws Problem `not-found` */
export async function findMessage(db: Database, caller: Caller, id: string): Promise<Message> {
  const row = await db.message.findUnique({ where: { id } });
  if (!row || row.accountId !== caller.accountId || !maySee(caller, row.instanceId)) {
    throw new Problem('not-found');
  }
  return row;
}
