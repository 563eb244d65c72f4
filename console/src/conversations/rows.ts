import type { components } from '../generated/api';
import type { Message } from '../messages/status-badge';

export type Event = components['schemas']['EventOut'];
type Received = components['schemas']['ReceivedData'];
type MenuReply = components['schemas']['InteractiveReplyData']['reply'];
type EventPerson = Received['from'];

/** The content of a message. The gateway keeps that of received messages only; a page remembers what it sent. */
export type Content = Pick<Received, 'type'> & Partial<Received>;

interface Reaction {
  /** Null: the own account. */
  from: EventPerson | null;
  emoji: string;
}

/** A choice of a menu or poll, and who has chosen it. */
interface Answer {
  label: string;
  people: EventPerson[];
}

export interface MessageRow {
  kind: 'message';
  id: string;
  /** When it was written. */
  time: string;
  /** When gwk got it, which orders it among others. */
  arrivedAt: string;
  /** Null: gwk has no such message, only the event. */
  messageId: string | null;
  eventId: string | null;
  waId: string | null;
  isMine: boolean;
  author: EventPerson | null;
  type: Message['type'];
  /** Null: not stored. */
  content: Content | null;
  status: Message['status'] | null;
  error: Message['error'];
  scheduledFor: string | null;
  isEdited: boolean;
  isDeleted: boolean;
  reactions: Reaction[];
  /** The choice that this message is. */
  reply: MenuReply | null;
  /** Choices of this menu or poll. */
  answers: Answer[];
  /** Null: it quotes nothing. */
  quoted: { waId: string; row: MessageRow | null } | null;
}

type NoticeEvent = Extract<
  Event,
  { type: 'call.received' | 'group.updated' | 'contact.opted_out' | 'contact.opted_in' }
>;

/** Something that happened in the conversation and is no message. */
interface NoticeRow {
  kind: 'notice';
  id: string;
  time: string;
  event: NoticeEvent;
}

export type Row = MessageRow | NoticeRow;

interface Stored {
  messages: readonly Message[];
  events: readonly Event[];
  /** Contents of messages that this page sent, by id. */
  sent: Readonly<Record<string, Content>>;
  /** Events before this time are about messages that are not loaded; null: all are loaded. */
  from: string | null;
}

/** Builds the rows of a conversation from stored messages and events, the oldest first. */
export function buildRows({ messages, events, sent, from }: Stored): Row[] {
  const thread = new Thread(from);
  for (const message of messages) thread.addMessage(message, sent[message.id] ?? null);
  // Ids of events are in the order of time.
  for (const event of events.toSorted((a, b) => (a.id < b.id ? -1 : 1))) thread.addEvent(event);
  return thread.finish();
}

const RANKS: Record<Message['status'], number> = {
  queued: 0,
  sending: 1,
  failed: 2,
  sent: 3,
  delivered: 4,
  read: 5,
};

class Thread {
  readonly #rows = new Map<string, MessageRow>();
  readonly #notices: NoticeRow[] = [];

  constructor(private readonly from: string | null) {}

  addMessage(message: Message, content: Content | null): void {
    const isMine = message.direction === 'outbound';
    this.#rows.set(message.id, {
      ...EMPTY,
      id: message.id,
      time: message.created_at,
      arrivedAt: message.created_at,
      messageId: message.id,
      waId: message.wa_message_id,
      isMine,
      type: message.type,
      content,
      status: isMine ? message.status : null,
      error: message.error,
      scheduledFor: message.scheduled_for ?? null,
      ...lists(),
      quoted: findQuoted(content),
    });
  }

  addEvent(event: Event): void {
    switch (event.type) {
      case 'message.received':
      case 'message.sent_from_device':
        this.#addContent(event.id, event.data);
        break;
      case 'message.interactive_reply':
        this.#addReply(event.id, event.data);
        break;
      case 'call.received':
      case 'group.updated':
      case 'contact.opted_out':
      case 'contact.opted_in':
        if (this.#isLoaded(event.data.timestamp))
          this.#notices.push({ kind: 'notice', id: event.id, time: event.data.timestamp, event });
        break;
      default:
        this.#change(event);
    }
  }

  /** Links quotes, and sorts. */
  finish(): Row[] {
    const rows = [...this.#rows.values()];
    const byWaId = new Map(rows.map((row) => [row.waId, row]));
    for (const { quoted } of rows) if (quoted) quoted.row = byWaId.get(quoted.waId) ?? null;
    // Messages keep the order of their acceptance within a moment.
    return [...rows, ...this.#notices].toSorted(
      (a, b) => arrivalOf(a) - arrivalOf(b) || (a.id < b.id ? -1 : 1),
    );
  }

  #isLoaded(time: string): boolean {
    return this.from === null || Date.parse(time) >= Date.parse(this.from);
  }

  #addContent(eventId: string, data: Received, reply: MenuReply | null = null): void {
    const id = data.message_id ?? eventId;
    const known = this.#rows.get(id);
    if (!known && !this.#isLoaded(data.timestamp)) return;
    this.#rows.set(id, {
      ...EMPTY,
      ...lists(),
      id,
      arrivedAt: data.timestamp,
      messageId: data.message_id ?? null,
      waId: data.wa_message_id,
      isMine: data.from_me,
      type: data.type,
      ...known,
      time: data.timestamp,
      eventId,
      author: data.from,
      content: data,
      reply,
      quoted: findQuoted(data),
    });
  }

  /** Adds a choice to its menu or poll. A vote is no message of its own if its poll is loaded. */
  #addReply(eventId: string, data: Received & { reply: MenuReply }): void {
    const { reply, from, message_id: id } = data;
    const row = reply.in_reply_to === null ? undefined : this.#rows.get(reply.in_reply_to);
    if (row) addAnswer(row, reply, from);
    if (!row || reply.source !== 'poll') this.#addContent(eventId, data, reply);
    else if (id !== undefined) this.#rows.delete(id);
  }

  /** Changes the message that the event is about, if it is loaded. */
  #change(event: Event): void {
    const id = 'message_id' in event.data ? event.data.message_id : undefined;
    const row = id === undefined ? undefined : this.#rows.get(id);
    if (row && !changeContent(row, event)) changeStatus(row, event);
  }
}

/** @returns whether the event is about the content */
function changeContent(row: MessageRow, event: Event): boolean {
  switch (event.type) {
    case 'message.edited': {
      const { text, details } = event.data;
      row.content = { ...(row.content ?? { type: row.type }), text, ...(details && { details }) };
      row.isEdited = true;
      return true;
    }
    case 'message.deleted':
      row.isDeleted = true;
      return true;
    case 'message.reaction': {
      const { from = null, from_me: isMine, emoji } = event.data;
      const author = isMine ? null : from;
      row.reactions = row.reactions.filter((known) => known.from?.id !== author?.id);
      if (emoji !== '') row.reactions.push({ from: author, emoji });
      return true;
    }
    default:
      return false;
  }
}

function changeStatus(row: MessageRow, event: Event): void {
  if (event.type === 'message.sent') {
    advance(row, 'sent');
    row.waId ??= event.data.wa_message_id;
  }
  if (event.type === 'message.failed' && advance(row, 'failed')) row.error = event.data.error;
  if (event.type === 'message.status_updated') advance(row, event.data.status);
}

/** A person has each choice once, and no longer after it was withdrawn. */
function addAnswer(row: MessageRow, { label, vote_removed: isRemoved }: MenuReply, from: EventPerson): void {
  let answer = row.answers.find((known) => known.label === label);
  if (!answer) row.answers.push((answer = { label, people: [] }));
  answer.people = answer.people.filter(({ id }) => id !== from.id);
  if (!isRemoved) answer.people.push(from);
  if (answer.people.length === 0) row.answers = row.answers.filter((known) => known !== answer);
}

/** Statuses move forward only. The list of messages may be older or newer than the event. */
function advance(row: MessageRow, status: Message['status']): boolean {
  if (row.status === null || RANKS[status] <= RANKS[row.status]) return false;
  row.status = status;
  return true;
}

function findQuoted(content: Content | null): MessageRow['quoted'] {
  const waId = content?.quoted?.id ?? content?.quoted_wa_message_id;
  return waId === undefined ? null : { waId, row: null };
}

const arrivalOf = (row: Row): number => Date.parse(row.kind === 'message' ? row.arrivedAt : row.time);

const EMPTY = {
  kind: 'message',
  eventId: null,
  author: null,
  content: null,
  status: null,
  error: null,
  scheduledFor: null,
  isEdited: false,
  isDeleted: false,
  reply: null,
} as const;

const lists = () => ({ reactions: [], answers: [] });

/** When the contact last wrote; null: not in these rows. */
export const findLastReceived = (rows: readonly Row[]): string | null =>
  rows.findLast((row) => row.kind === 'message' && !row.isMine)?.time ?? null;
