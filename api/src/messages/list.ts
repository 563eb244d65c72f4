import { Problem } from '@gwk/core/problems/problems';
import { parseRecipient } from '@gwk/core/ids/recipients';
import type { MessageListQuery } from '@gwk/core/resources/message';
import type { z } from 'zod';
import { maySee, type Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import { Prisma, type Message } from '../generated/prisma/client.js';
import { findName } from '../contacts/contacts.js';
import { filterConversation, filterInstances } from '../accounts/find-instance.js';
import {
  lowestIdSince,
  queryRange,
  pageNewest,
  pageNewestOfFew,
  pageNewestQueued,
  type NewestPage,
  type PageRange,
} from '../database/keyset-pages.js';
import { selectFields } from '../database/model-columns.js';
import { LISTED_FIELDS, type ListedMessage } from './view.js';

type MessageFilters = Omit<z.output<typeof MessageListQuery>, 'limit' | 'cursor'>;

/** The unsent messages that the filters select; null: no filter. */
interface UnsentScope {
  accountId: string;
  instances: string[] | null;
  conversations: string[] | null;
  status: 'queued' | 'sending';
  type: string | null;
}

/** Lists use SQL: Prisma's models take longer to build the objects of a page than Postgres to find it. */
const COLUMNS = selectFields(LISTED_FIELDS, 'm');

/**
 * Returns at most `limit` messages, newest first.
 * @throws Problem `invalid-phone`, `not-found`
 */
export const listMessages = async (
  db: Database,
  caller: Caller,
  filters: MessageFilters,
  range: PageRange,
): Promise<ListedMessage[]> => addLids(db, await readPage(db, caller, filters, range));

/** Adds the LIDs that the instances know for the contacts of messages. */
export async function addLids<Row extends ListedMessage>(
  db: Pick<Database, '$queryRaw'>,
  rows: readonly Row[],
): Promise<Row[]> {
  if (rows.length === 0) return [];
  const ids = [...new Set(rows.map(({ conversationId }) => conversationId!))];
  const found = await db.$queryRaw<{ id: string; lid: string }[]>`
    SELECT id, lid FROM conversations WHERE id = ANY (${ids}::uuid[]) AND lid IS NOT NULL`;
  const lids = new Map(found.map(({ id, lid }) => [id, lid]));
  return rows.map((row) => ({ ...row, lid: lids.get(row.conversationId!) }));
}

async function readPage(
  db: Database,
  caller: Caller,
  filters: MessageFilters,
  range: PageRange,
): Promise<ListedMessage[]> {
  const { accountId } = caller;
  const { status = null, type = null } = filters;
  // Validated before any lookup.
  const recipient = filters.to === undefined ? undefined : parseRecipient(filters.to);
  if (recipient === null) throw new Problem('invalid-phone');
  const instances = await filterInstances(db, caller, filters.instance_id);
  const conversation = await filterConversation(db, caller, filters.conversation);
  const named = recipient ? await findConversations(db, accountId, instances, recipient) : null;
  const conversations = await narrow(db, instances, named, conversation);
  if (conversations?.length === 0) return [];
  const page = { ...range, from: lowestIdSince(filters.since) };
  if (status === 'queued' || status === 'sending') {
    return listUnfinished(db, { accountId, instances, conversations, status, type }, page);
  }
  return listFinished(db, { accountId, instances, conversations, status, type }, page);
}

interface FinishedScope extends Omit<UnsentScope, 'status'> {
  status: string | null;
}

function listFinished(db: Database, scope: FinishedScope, page: NewestPage): Promise<ListedMessage[]> {
  const { accountId, instances, conversations, status, type } = scope;
  const query = (name: string, given: Prisma.Sql) => queryRange<ListedMessage>(db, COLUMNS, name, given);
  if (conversations)
    return pageNewestOfFew(
      page,
      query('gwk_messages_of_conversations', Prisma.sql`${conversations}::uuid[], ${status}, ${type}`),
    );
  if (status === 'failed') {
    const failed = Prisma.sql`${accountId}::uuid, ${instances}::uuid[], ${type}`;
    return pageNewestOfFew(page, query('gwk_failed_messages', failed));
  }
  return pageNewest(
    page,
    instances
      ? query('gwk_messages_of_instances', Prisma.sql`${instances}::uuid[], ${status}, ${type}`)
      : query('gwk_messages_of_account', Prisma.sql`${accountId}::uuid, ${status}, ${type}`),
  );
}

/**
 * Reads unsent messages from the queue, which contains all of them and is small. No index of `messages` has the status,
 * see docs/decisions/0022-keep-status-updates-off-the-indexes.md.
 */
const listUnfinished = (db: Database, scope: UnsentScope, page: NewestPage): Promise<ListedMessage[]> =>
  pageNewestQueued(
    page,
    (before, amount) => listQueuedIds(db, scope, { from: page.from, before, limit: amount }),
    (ids) => db.$queryRaw<ListedMessage[]>`
      SELECT ${COLUMNS} FROM messages m WHERE m.id = ANY (${ids}::uuid[]) AND m.status = ${scope.status}
        AND (${scope.type}::text IS NULL OR m.type = ${scope.type}) ORDER BY m.id DESC`,
  );

/** Returns ids, newest first. A message that may have been sent stays `sending` while it waits for its next claim. */
const listQueuedIds = (
  db: Database,
  { accountId, instances, conversations, status }: UnsentScope,
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

/** The conversations that all filters select; null: all. */
async function narrow(
  db: Database,
  instances: string[] | null,
  named: string[] | null,
  conversation: string | null,
): Promise<string[] | null> {
  if (conversation === null) return named;
  const where = { id: conversation, ...(instances && { instanceId: { in: instances } }) };
  const isSelected = named === null || named.includes(conversation);
  return isSelected && (await db.conversation.count({ where })) > 0 ? [conversation] : [];
}

/** Finds the conversations of a recipient by any of its names. */
async function findConversations(
  db: Database,
  accountId: string,
  instances: string[] | null,
  recipient: NonNullable<ReturnType<typeof parseRecipient>>,
): Promise<string[]> {
  const inScope = Prisma.sql`(${instances}::uuid[] IS NULL OR v.instance_id = ANY (${instances}::uuid[]))`;
  const rows = await db.$queryRaw<{ id: string }[]>(
    recipient.kind === 'group'
      ? Prisma.sql`
          SELECT v.id FROM instances i JOIN conversations v ON v.instance_id = i.id AND v.group_id = ${recipient.name}
          WHERE i.account_id = ${accountId}::uuid AND ${inScope}`
      : Prisma.sql`
          SELECT v.id FROM contact_names n JOIN conversations v ON v.contact_id = n.contact_id
          WHERE n.account_id = ${accountId}::uuid AND n.name = ${findName(accountId, recipient)} AND ${inScope}`,
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

type FoundMessage = Pick<Message, 'id' | 'direction' | 'participant' | 'list' | 'byPhone' | 'waMessageId'>;

/** Author of a message. Network ids are unique only together with it. */
export interface MessageAuthor {
  direction: 'inbound' | 'outbound';
  /** Network ids of the author in a group; null: anybody. */
  participants: string[] | null;
}

interface NetworkName {
  instanceId: string;
  conversationId: string;
  waMessageId: string;
  /** Undefined: anybody. */
  author?: MessageAuthor | undefined;
}

/** Finds messages of conversations by their network ids, in the same order; undefined: gwk has no such message. */
export async function findByNetworkIds(
  db: Pick<Database, '$queryRaw'>,
  names: readonly NetworkName[],
): Promise<(FoundMessage | undefined)[]> {
  const [found] = await db.$queryRaw<[{ ids: (string | null)[] }]>`
    SELECT gwk_find_authored(${names.map(({ instanceId }) => instanceId)}::uuid[],
      ${names.map(({ conversationId }) => conversationId)}::uuid[],
      ${names.map(({ waMessageId }) => waMessageId)}::text[],
      ${names.map(({ author }) => author?.direction ?? null)}::text[],
      ${JSON.stringify(names.map(({ author }) => author?.participants ?? null))}::jsonb) AS ids`;
  const ids = found.ids.filter((id) => id !== null).sort();
  // Prisma's findMany would be another statement, with a plan of all partitions, for each number of ids.
  const rows = await db.$queryRaw<FoundMessage[]>`
    SELECT id, direction, participant, list, by_phone AS "byPhone", wa_message_id AS "waMessageId" FROM messages
    WHERE id = ANY (${ids}::uuid[]) AND id BETWEEN ${ids[0] ?? null}::uuid AND ${ids.at(-1) ?? null}::uuid`;
  return found.ids.map((id) => rows.find((row) => row.id === id));
}
