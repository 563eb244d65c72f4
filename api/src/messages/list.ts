import { fromPublicId, lowestUuidAt } from '@gwk/core/ids';
import { Problem } from '@gwk/core/problems';
import { parseRecipient } from '@gwk/core/recipients';
import type { MessageListQuery } from '@gwk/core/resources/message';
import type { z } from 'zod';
import { maySee, restrictionOf, type Caller } from '../accounts/caller.js';
import type { Database } from '../database.js';
import type { Message, Prisma } from '../generated/prisma/client.js';
import { findFilterInstance } from '../instances/find.js';
import { newestFirst, within, type Span } from '../newest-first.js';

export type MessageFilters = Omit<z.output<typeof MessageListQuery>, 'limit' | 'cursor'>;

/** What a list is narrowed to, looked up; null: not narrowed by it. */
interface Narrowed {
  accountId: string;
  instances: string[] | null;
  conversations: string[] | null;
  status: MessageFilters['status'] | null;
}

/**
 * Messages newest first, at most `limit` of them.
 * @throws Problem `invalid-phone`, `not-found`
 */
export async function listMessages(
  db: Database,
  caller: Caller,
  filters: MessageFilters,
  page: { after: string | null; limit: number },
): Promise<Message[]> {
  const narrowed = await narrow(db, caller, filters);
  const from = filters.since === undefined ? null : lowestUuidAt(Date.parse(filters.since));
  const whole = { from, before: page.after };
  if (narrowed.status === 'queued' || narrowed.status === 'sending') {
    return read(
      db,
      { id: { in: await unfinished(db, narrowed, { ...whole, limit: page.limit }) } },
      page.limit,
    );
  }
  const conditions = conditionsOf(narrowed);
  const look = (span: Span, take: number) => read(db, { AND: [...conditions, ...within(span)] }, take);
  // Messages with one contact are few and far apart: one look at all days is what finds them.
  return narrowed.conversations
    ? look(whole, page.limit)
    : newestFirst({ ...whole, limit: page.limit }, look);
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
  const conversations = recipient ? await conversationsWith(db, accountId, recipient) : null;
  return { accountId, instances, conversations, status: filters.status ?? null };
}

function conditionsOf({ accountId, instances, conversations, status }: Narrowed): Prisma.MessageWhereInput[] {
  return [
    { accountId },
    ...(instances ? [{ instanceId: { in: instances } }] : []),
    ...(conversations ? [{ conversationId: { in: conversations } }] : []),
    ...(status === null ? [] : [{ status }]),
    // What the index of failed ones is told by.
    ...(status === 'failed' ? [{ failedAt: { not: null } }] : []),
  ];
}

const read = (db: Database, where: Prisma.MessageWhereInput, take: number): Promise<Message[]> =>
  db.message.findMany({ where, orderBy: { id: 'desc' }, take });

/**
 * Ids of messages that have not left, newest first. The queue knows them all, and is small beside the messages: no
 * index of messages has their status, so that a status changes in place.
 */
async function unfinished(
  db: Database,
  { accountId, instances, conversations, status }: Narrowed,
  { from, before, limit }: Span & { limit: number },
): Promise<string[]> {
  const rows = await db.$queryRaw<{ id: string }[]>`
    SELECT o.message_id AS id FROM outbox o
    WHERE o.instance_id IN (SELECT i.id FROM instances i WHERE i.account_id = ${accountId}::uuid)
      AND (${instances}::uuid[] IS NULL OR o.instance_id = ANY (${instances}::uuid[]))
      AND (${conversations}::uuid[] IS NULL OR o.conversation_id = ANY (${conversations}::uuid[]))
      AND (${from}::uuid IS NULL OR o.message_id >= ${from}::uuid)
      AND (${before}::uuid IS NULL OR o.message_id < ${before}::uuid)
      AND (SELECT m.status FROM messages m WHERE m.id = o.message_id) = ${status}
    ORDER BY o.message_id DESC LIMIT ${limit}`;
  return rows.map(({ id }) => id);
}

/** By whatever name of theirs: forms known to be equal lead to one contact. */
async function conversationsWith(
  db: Database,
  accountId: string,
  recipient: NonNullable<ReturnType<typeof parseRecipient>>,
): Promise<string[]> {
  const rows = await db.conversation.findMany({
    where:
      recipient.kind === 'group'
        ? { groupId: recipient.name, instance: { accountId } }
        : { contact: { names: { some: { accountId, name: recipient.name } } }, instance: { accountId } },
    select: { id: true },
  });
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
