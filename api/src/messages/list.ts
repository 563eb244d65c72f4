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
  const conditions: Prisma.MessageWhereInput[] = [{ accountId: caller.accountId }];
  // Judged by its shape before anything is looked up.
  const recipient = filters.to === undefined ? undefined : parseRecipient(filters.to);
  if (recipient === null) throw new Problem('invalid-phone');
  if (filters.instance_id !== undefined) {
    const id = fromPublicId('instance', filters.instance_id);
    conditions.push({ instanceId: await findFilterInstance(db, caller, id) });
  } else {
    const restriction = restrictionOf(caller);
    if (restriction) conditions.push({ instanceId: { in: restriction } });
  }
  if (recipient) {
    const conversations = await conversationsWith(db, caller.accountId, recipient);
    conditions.push({ conversationId: { in: conversations } });
  }
  if (filters.status !== undefined) conditions.push({ status: filters.status });
  const from = filters.since === undefined ? null : lowestUuidAt(Date.parse(filters.since));
  const read = (span: Span, take: number) =>
    db.message.findMany({
      where: { AND: [...conditions, ...within(span)] },
      orderBy: { id: 'desc' },
      take,
    });
  const whole = { from, before: page.after };
  // Messages with one contact are few and far apart: one look at all days is what finds them.
  return recipient ? read(whole, page.limit) : newestFirst({ ...whole, limit: page.limit }, read);
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
