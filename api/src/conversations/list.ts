import { parseUuidTime, toPublicId } from '@gwk/core/ids/ids';
import { isGroupId } from '@gwk/core/ids/recipients';
import { Problem } from '@gwk/core/problems/problems';
import type { z } from 'zod';
import type { Caller } from '../accounts/caller.js';
import { checkConversation, filterInstances } from '../accounts/find-instance.js';
import type { Database } from '../database/database.js';
import { upperBound, type PageRange } from '../database/keyset-pages.js';
import { buildContactIds, type ContactNames } from '../events/emit.js';
import { Prisma, type Conversation, type Message } from '../generated/prisma/client.js';
import type { ContactOut, ConversationListQuery, ConversationOut } from '../resources/conversation.js';

type Filters = Omit<z.output<typeof ConversationListQuery>, 'limit' | 'cursor'>;
type LastMessage = Pick<Message, 'id' | 'direction' | 'type' | 'status' | 'createdAt'>;

interface PersonRow {
  /** The newest message: the place in the list. */
  id: string;
  name: string | null;
  /** The ids that the instance of the conversation knows; null for a group. */
  names: ContactNames | null;
  optedOut: boolean;
}

interface ConversationRow
  extends PersonRow, Pick<Conversation, 'instanceId' | 'groupId' | 'subject' | 'unread'> {
  conversationId: string;
  last: LastMessage | undefined;
}

interface ContactRow extends PersonRow {
  startedAt: Date;
}

const PERSON = Prisma.sql`v.last_message_id AS id, c.name, gwk_contact_ids(v.contact_id, v.instance_id) AS names`;

/** @throws Problem `not-found` for an unknown instance */
export async function listConversations(
  db: Database,
  caller: Caller,
  filters: Filters,
  page: PageRange,
): Promise<ConversationRow[]> {
  const instances = await findInstances(db, caller, filters.instance_id);
  return readConversations(db, callList({ caller, instances, people: false }, filters, page));
}

/** @throws Problem `not-found` */
export async function findConversation(db: Database, caller: Caller, id: string): Promise<ConversationRow> {
  await checkConversation(db, caller, id);
  const [row] = await readConversations(
    db,
    Prisma.sql`(SELECT * FROM conversations WHERE id = ${id}::uuid AND last_message_id IS NOT NULL)`,
  );
  if (!row) throw new Problem('not-found');
  return row;
}

async function readConversations(db: Database, source: Prisma.Sql): Promise<ConversationRow[]> {
  const rows = await db.$queryRaw<Omit<ConversationRow, 'last'>[]>`
    SELECT ${PERSON}, v.id AS "conversationId", v.instance_id AS "instanceId", v.group_id AS "groupId", v.subject, v.unread,
      v.contact_id IS NOT NULL AND gwk_opted_out(v.contact_id, v.instance_id) AS "optedOut"
    FROM ${source} AS v LEFT JOIN contacts c ON c.id = v.contact_id
    ORDER BY v.last_message_id DESC`;
  const last = await readMessages(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => ({ ...row, last: last.get(row.id) }));
}

/**
 * Lists people by their newest conversation in the visible instances, with the ids that its instance knows.
 * @throws Problem `not-found` for an unknown instance
 */
export async function listContacts(
  db: Database,
  caller: Caller,
  filters: Filters,
  page: PageRange,
): Promise<ContactRow[]> {
  const instances = await findInstances(db, caller, filters.instance_id);
  return db.$queryRaw`
    SELECT ${PERSON}, gwk_opted_out(v.contact_id, NULL) AS "optedOut", (
      SELECT min(o.started_at) FROM conversations o
      WHERE o.contact_id = v.contact_id AND o.instance_id = ANY (${instances}::uuid[])) AS "startedAt"
    FROM ${callList({ caller, instances, people: true }, filters, page)} AS v JOIN contacts c ON c.id = v.contact_id
    ORDER BY v.last_message_id DESC`;
}

/** Finds the instances of a list, with deleted ones: their conversations stay readable. */
async function findInstances(db: Database, caller: Caller, given: string | undefined): Promise<string[]> {
  const found = await filterInstances(db, caller, given);
  if (found) return found;
  const rows = await db.instance.findMany({ where: { accountId: caller.accountId }, select: { id: true } });
  return rows.map(({ id }) => id);
}

function callList(
  { caller: { accountId }, instances, people }: { caller: Caller; instances: string[]; people: boolean },
  { search }: Filters,
  { before, limit }: PageRange,
): Prisma.Sql {
  const { needle, digits } = search === undefined ? { needle: null, digits: null } : readSearch(search);
  return Prisma.sql`gwk_conversations_of_instances(${accountId}::uuid, ${instances}::uuid[], ${people},
    gwk_fold_name(${needle}), ${digits}, ${upperBound(before)}::uuid, ${limit}::integer)`;
}

/** Fewer digits are in most phone numbers. */
const MIN_DIGITS = 3;

/** `digits`: the part of a phone number, in any of the ways that people write it. */
function readSearch(search: string): { needle: string | null; digits: string | null } {
  const wanted = search.trim().replace(/^@/, '');
  const digits = wanted.replaceAll(/[\s().+-]/g, '');
  const isPhone = digits.length >= MIN_DIGITS && /^[0-9]+$/.test(digits);
  return { needle: wanted === '' ? null : wanted, digits: isPhone ? digits : null };
}

async function readMessages(db: Database, ids: string[]): Promise<Map<string, LastMessage>> {
  const sorted = ids.toSorted();
  const rows = await db.$queryRaw<LastMessage[]>`
    SELECT id, direction, type, status, created_at AS "createdAt" FROM messages
    WHERE id = ANY (${sorted}::uuid[]) AND id BETWEEN ${sorted[0] ?? null}::uuid AND ${sorted.at(-1) ?? null}::uuid`;
  return new Map(rows.map((row) => [row.id, row]));
}

const personOut = ({ names, name }: PersonRow) => {
  const { id, phone = null, username } = buildContactIds(names!);
  return { id, phone, username, name };
};

export const conversationOut = (row: ConversationRow): ConversationOut => {
  const { groupId, last, subject } = row;
  return {
    id: toPublicId('conversation', row.conversationId),
    instance_id: toPublicId('instance', row.instanceId),
    kind: groupId === null ? 'contact' : isGroupId(groupId) ? 'group' : 'other',
    contact: groupId === null ? personOut(row) : null,
    group: groupId === null ? null : { id: groupId, subject },
    active_at: new Date(parseUuidTime(row.id)).toISOString(),
    last_message: last ? messageOut(last) : null,
    unread_count: row.unread,
    opted_out: row.optedOut,
  };
};

const messageOut = ({ id, createdAt, ...shown }: LastMessage) =>
  ({
    id: toPublicId('message', id),
    ...shown,
    created_at: createdAt.toISOString(),
  }) as NonNullable<ConversationOut['last_message']>;

export const contactOut = (row: ContactRow): ContactOut => ({
  ...personOut(row),
  opted_out: row.optedOut,
  first_contact_at: row.startedAt.toISOString(),
  last_contact_at: new Date(parseUuidTime(row.id)).toISOString(),
});
