import { newUuid, parseUuidTime } from '@gwk/core/ids/ids';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { QueryRows } from '../database/database.js';
import { Prisma } from '../generated/prisma/client.js';
import { leaseArrays } from '../fencing/fence.js';
import { eventItem } from '../events/emit.js';
import { sealCard } from '../messages/content.js';
import { idAfter } from '../events/event-ids.js';
import { networkId, readLid, readsMenus, type Arrival } from './arrival.js';
import type { Meaning } from './decide.js';
import type { Known } from './gather.js';
import type { Vote } from './replies.js';

/** An arrival with its facts and decided effects. */
export interface Entry {
  arrival: Arrival;
  known: Known;
  meaning: Meaning;
}

export type Result = 'fenced' | 'gone' | 'retry' | 'duplicate' | 'written';

export interface Written {
  result: Result;
  conversationId: string;
}

/**
 * Writes a batch in one statement, each message with all its events or not at all. Duplicates are skipped. The result `retry`
 * means that facts changed after the decision.
 */
export async function write(
  queryRows: QueryRows,
  sealer: Sealer,
  entries: readonly Entry[],
): Promise<Written[]> {
  // One new id per contact and conversation that several messages of the batch create.
  const ids = new Map<string, string>();
  const newIdOf = (name: string): string => {
    if (!ids.has(name)) ids.set(name, newUuid());
    return ids.get(name)!;
  };
  const rows = entries.map((entry, index) => ({
    ...rowOf(entry, index + 1, newIdOf),
    ...cardOf(sealer, entry.arrival),
  }));
  // Event ids follow the id of their message, whichever attempt writes them.
  const events = entries.flatMap(({ arrival: { messageId }, meaning }, place) =>
    meaning.events.map((draft, index) => {
      const { conversation_id: conversationId } = rows[place]!;
      return eventItem(sealer, messageId, { ...draft, conversationId, id: idAfter(messageId, index + 1) });
    }),
  );
  const callers = entries.map(({ arrival: { instanceId, lease } }) => {
    return { instanceId, epoch: null, holder: null, ...lease };
  });
  const results = await queryRows<{ result: Result }>(Prisma.sql`
    SELECT * FROM gwk_receive(${leaseArrays(callers)}, ${JSON.stringify(rows)}::jsonb, ${JSON.stringify(events)}::jsonb)`);
  return results.map(({ result }, index) => ({ result, conversationId: rows[index]!.conversation_id }));
}

type NewIdOf = (name: string) => string;

interface Row extends Record<string, unknown> {
  conversation_id: string;
}

function rowOf({ arrival, known, meaning }: Entry, number: number, newIdOf: NewIdOf): Row {
  const { instanceId, messageId, message, at } = arrival;
  const { answer, vote } = meaning;
  return {
    number,
    message_id: messageId,
    account_id: known.accountId,
    instance_id: instanceId,
    ...(arrival.chat.kind === 'group' ? groupRow : contactRow)(arrival, known, newIdOf),
    wa_message_id: message.wa_message_id,
    list: message.list,
    at,
    created_at: new Date(parseUuidTime(messageId)),
    type: message.type,
    has_row: meaning.hasRow,
    from_me: message.from_me,
    wrote: meaning.wrote,
    timer_s: message.timer?.seconds,
    timer_set_at: message.timer?.set_at,
    reads_menus: readsMenus(arrival),
    newest_menu: known.newestMenu?.messageId,
    answers: answer?.menuId,
    typed: answer?.typed ?? false,
    ...(vote && voteRow(vote)),
    deletes: meaning.deletes,
    edits: meaning.edits,
    edit_event: idAfter(messageId, 1),
  };
}

function voteRow({ pollId, voters, before, now }: Vote) {
  return { poll: pollId, voter: voters[0], voters, chosen_before: before, chosen: now };
}

function cardOf(sealer: Sealer, { instanceId, message }: Arrival): { card?: string } {
  const { change } = message;
  const card = change?.kind === 'edit' ? change.card : message.card;
  return card === undefined ? {} : { card: sealCard(sealer, instanceId, card).toString('base64') };
}

function contactRow(arrival: Arrival, known: Known, newIdOf: NewIdOf): Row {
  const { instanceId, message, chat, link } = arrival;
  const contactId = known.contactId ?? newIdOf(`${known.accountId} ${chat.name}`);
  return {
    conversation_id: known.conversationId ?? newIdOf(`${instanceId} ${contactId}`),
    new_conversation: known.conversationId === null,
    contact_id: contactId,
    new_contact: known.contactId === null,
    name: chat.name,
    to: link?.phone ?? chat.phone ?? (known.lid === chat.name ? known.phone : null) ?? chat.name,
    lid: link?.lid ?? readLid(chat),
    phone: link?.phone,
    by_phone: chat.phone !== null,
    username: message.username,
    lid_username: findLidUsername(arrival, known),
    person: message.from_me ? null : message.from_name,
  };
}

/** A consumer may write to a sandbox in the name of anybody, so that says nothing about the LID. */
const findLidUsername = ({ message, chat }: Arrival, { isSandbox }: Known): string | undefined =>
  readLid(chat) !== null && !isSandbox ? message.username : undefined;

function groupRow({ instanceId, message, chat }: Arrival, known: Known, newIdOf: NewIdOf): Row {
  return {
    conversation_id: known.conversationId ?? newIdOf(`${instanceId} ${chat.name}`),
    new_conversation: known.conversationId === null,
    new_contact: false,
    group_id: chat.name,
    participant: networkId(message.from),
    to: chat.name,
  };
}
