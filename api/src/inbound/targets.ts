import { exactDigits, parseRecipient } from '@gwk/core/ids/recipients';
import type { Database } from '../database/database.js';
import type { Message } from '../generated/prisma/client.js';
import { findByNetworkIds, type MessageAuthor } from '../messages/list.js';
import { networkId, senderIds, targetId, type Arrival } from './arrival.js';

/** The target message of a click, vote, edit, deletion or reaction. */
export interface Target extends Pick<Message, 'id' | 'direction' | 'participant'> {
  /** Contact of the author in a group, if the author's network id is none of the sender's. */
  authorId?: string | null;
}

type TargetDatabase = Pick<Database, '$queryRaw' | 'contactName'>;

interface Facts {
  accountId: string | null;
  conversationId: string | null;
  /** Phone number of the sender in a group, as this instance knows it. */
  senderPhone: string | null;
}

/**
 * Finds the messages that are clicked or changed. Senders choose the ids of their messages, so the one of the right author is
 * searched first. If there is none, the message of another author decides why the change does not count.
 */
export async function gatherTargets(
  database: TargetDatabase,
  arrivals: readonly Arrival[],
  rows: readonly Facts[],
): Promise<(Target | undefined)[]> {
  const wanted = arrivals.flatMap((arrival, index) => {
    const waMessageId = targetId(arrival);
    const { conversationId, senderPhone } = rows[index]!;
    if (waMessageId === null || conversationId === null) return [];
    const author = findTargetAuthor(arrival, senderPhone);
    return [{ index, instanceId: arrival.instanceId, conversationId, waMessageId, author }];
  });
  if (wanted.length === 0) return [];
  const targets: (Target | undefined)[] = [];
  const found = await findByNetworkIds(database, wanted);
  wanted.forEach(({ index }, place) => (targets[index] = found[place]));
  const others = wanted.filter(
    ({ index, author }) => !targets[index] && author && arrivals[index]!.message.change,
  );
  if (others.length > 0) {
    const anybody = others.map((name) => ({ ...name, author: undefined }));
    const foundOthers = await findByNetworkIds(database, anybody);
    others.forEach(({ index }, place) => {
      const other = foundOthers[place];
      if (other && mayBeTarget(arrivals[index]!, other)) targets[index] = other;
    });
  }
  return findAuthors(database, arrivals, rows, targets);
}

/**
 * Undefined if the change does not name the author. An edit is of the editor. So is a deletion, unless an admin of the group deletes; then
 * it names the author, as reactions do.
 */
function findTargetAuthor(arrival: Arrival, senderPhone: string | null): MessageAuthor | undefined {
  const { change, from_me } = arrival.message;
  if (!change) return OWN;
  if (isOfSender(arrival, change))
    return from_me ? OWN : ofMember(arrival, listSenderIds(arrival, senderPhone));
  const { author } = change;
  if (!author) return undefined;
  return author.from_me
    ? OWN
    : ofMember(arrival, author.participant === null ? null : [networkId(author.participant)]);
}

/** Whether only the sender of the change can be the author. */
function isOfSender({ chat, message }: Arrival, change: Change): boolean {
  if (change.kind === 'edit') return true;
  if (change.kind === 'reaction') return false;
  return chat.kind !== 'group' || !(message.from_me || change.by_admin);
}

const ofMember = ({ chat }: Arrival, ids: string[] | null): MessageAuthor => ({
  direction: 'inbound',
  participants: chat.kind === 'group' ? ids : null,
});

const listSenderIds = (arrival: Arrival, phone: string | null): string[] =>
  phone === null ? senderIds(arrival) : [...senderIds(arrival), networkId(phone)];

type Change = NonNullable<Arrival['message']['change']>;

const OWN: MessageAuthor = { direction: 'outbound', participants: null };

/** The own phone changes its own messages, also those that only it knows. A reaction is to the message that it names. */
function mayBeTarget({ message: { change, from_me } }: Arrival, { direction }: Target): boolean {
  if (!change?.author || (!from_me && change.kind !== 'reaction')) return true;
  return direction === (change.author.from_me ? 'outbound' : 'inbound');
}

/** A member may write under one network id and delete under another. Both then belong to one contact. */
async function findAuthors(
  database: TargetDatabase,
  arrivals: readonly Arrival[],
  rows: readonly Pick<Facts, 'accountId'>[],
  targets: readonly (Target | undefined)[],
): Promise<(Target | undefined)[]> {
  const asked = targets.flatMap((target, index) => {
    const arrival = arrivals[index]!;
    const author = target?.participant ? parseRecipient(target.participant) : null;
    if (!author || !arrival.message.change || senderIds(arrival).includes(target!.participant!)) return [];
    return [
      { index, accountId: rows[index]!.accountId, names: [exactDigits(author) ?? author.name, author.name] },
    ];
  });
  if (asked.length === 0) return [...targets];
  const found = await database.contactName.findMany({
    where: { OR: asked.map(({ accountId, names }) => ({ accountId: accountId!, name: { in: names } })) },
  });
  const authors = [...targets];
  for (const { index, accountId, names } of asked) {
    const own = names.map((name) => found.find((one) => one.accountId === accountId && one.name === name));
    authors[index] = { ...targets[index]!, authorId: own.find(Boolean)?.contactId ?? null };
  }
  return authors;
}
