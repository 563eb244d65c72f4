import type { Gwk } from '@gwk/client';
import type { Message } from '../messages/status-badge';
import type { Loaded } from '../ui/growing';
import type { Conversation } from './obstacles';
import type { Event } from './rows';

const MESSAGES = 50;
const EVENTS = 100;
/** The interface lists calls and changes of groups by number, so only the newest ones are searched for a conversation. */
const NOTICES = 200;

/** Where older messages and events begin; undefined: at the newest ones, null: there are none. */
export interface ThreadCursor {
  messages: string | null | undefined;
  events: string | null | undefined;
}

export type Stored = Message | Event;

export const isMessage = (item: Stored): item is Message => 'direction' in item;

const pageAfter = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor });

/**
 * Reads a page of messages, and all events since the oldest of them. Events are newer than their message, so they include
 * all changes of these messages. With loaded items, it reads until the first event that is among them.
 */
export async function readThread(
  gwk: Gwk,
  conversation: string,
  after: ThreadCursor | null,
  loaded: readonly Stored[],
): Promise<Loaded<Stored, ThreadCursor>> {
  const { messages: place, events: eventPlace } = after ?? { messages: undefined, events: undefined };
  const query = { conversation, limit: MESSAGES };
  const page =
    place === null
      ? { data: [], next_cursor: null }
      : await gwk.messages.list({ ...query, ...pageAfter(place) });
  // All events, if there is no older message.
  const oldest = page.next_cursor === null ? null : page.data.at(-1)!.created_at;
  const known = new Set(loaded.map(({ id }) => id));
  const rows: Stored[] = [...page.data];
  let events = eventPlace;
  while (events !== null) {
    const list = { conversation, limit: EVENTS, ...pageAfter(events) };
    const read = await gwk.events.list(list);
    rows.push(...read.data);
    events = read.next_cursor;
    const last = read.data.at(-1);
    if (last && (known.has(last.id) || (oldest !== null && last.timestamp < oldest))) break;
  }
  const messages = page.next_cursor;
  return { rows, cursor: messages === null && events === null ? null : { messages, events } };
}

/** Reads calls of the conversation, and changes of its group, since a time. */
export async function readNotices(
  gwk: Gwk,
  { instance_id, contact, group }: Conversation,
  since: string | null,
): Promise<Event[]> {
  const types = group ? (['call.received', 'group.updated'] as const) : (['call.received'] as const);
  const pages = await Promise.all(
    types.map((type) => {
      const query = { instance_id, type, limit: NOTICES, ...(since !== null && { since }) };
      return gwk.events.list(query);
    }),
  );
  return pages
    .flatMap(({ data }) => data)
    .filter((event) => {
      if (event.type !== 'call.received' && event.type !== 'group.updated') return false;
      const { chat, from } = event.data;
      return chat ? chat.id === group?.id : from?.id !== undefined && from.id === contact?.id;
    });
}
