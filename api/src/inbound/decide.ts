import { toPublicId } from '@gwk/core/ids/ids';
import { recogniseOptOut } from '../policy/opt-out-words.js';
import type { Policy } from '../policy/policy.js';
import { messageEvent, type Author, type EventDraft, type MessageSubject } from '../events/emit.js';
import { hasRow, networkId, senderIds, typedText, type Arrival, type Incoming } from './arrival.js';
import type { Known } from './gather.js';
import type { Target } from './targets.js';
import { clickedIn, replyToClick, replyToTyping, readVote, type Answer, type Vote } from './replies.js';
import { buildSender, buildSubject, receivedEvent } from './subject.js';

/** Effects of an inbound message. Decided by pure functions. */
export interface Meaning {
  events: EventDraft[];
  /** Whether it becomes a message in gwk. */
  hasRow: boolean;
  /** Whether it starts the sender's 24-hour window. */
  wrote: boolean;
  /** Answer to a menu. */
  answer: Answer | null;
  vote: Vote | null;
  /** Id of the edited message. */
  edits: string | null;
  /** Id of the message that was deleted for everyone. */
  deletes: string | null;
  /** An opt-out or resume word, as typed. */
  word: Word | null;
}

export interface Word {
  asks: 'opt_out' | 'opt_in';
  keyword: string;
}

const NOTHING: Meaning = {
  events: [],
  hasRow: false,
  wrote: false,
  answer: null,
  vote: null,
  edits: null,
  deletes: null,
  word: null,
};

/** Reasons why a message has no effect. */
export type IgnoredReason = 'unknown_poll' | 'unknown_message' | 'not_author';

/** @param policy effective policy, if something was typed */
export function decide(arrival: Arrival, known: Known, policy: Policy | null): Meaning | IgnoredReason {
  // No such instance.
  if (known.accountId === null) return NOTHING;
  const { message } = arrival;
  if (message.is_timer_only) return NOTHING;
  const written = { ...NOTHING, hasRow: hasRow(arrival), wrote: !message.from_me };
  if (message.change) return decideChange({ arrival, known, written }, message.change);
  const vote = message.vote || message.tap ? readVote(arrival, known) : null;
  if (vote) return decideVote(arrival, known, { ...written, vote });
  if (message.vote) return 'unknown_poll';
  const clicked = clickedIn(arrival);
  const answer = clicked && replyToClick(arrival, known, clicked);
  if (answer) return { ...written, answer, events: [receivedEvent(arrival, known, answer.reply)] };
  return decideTyped({ arrival, known, policy, written });
}

function decideVote(arrival: Arrival, known: Known, written: Meaning & { vote: Vote }): Meaning {
  const { pollId, replies } = written.vote;
  const [first] = replies;
  if (!first) return { ...NOTHING, vote: written.vote };
  const events = replies.map((reply) => receivedEvent(arrival, known, reply));
  // The owner's own vote answers nothing for the contacts.
  if (arrival.message.from_me) return { ...written, events };
  return { ...written, events, answer: { menuId: pollId, typed: false, reply: first } };
}

interface TypedCase {
  arrival: Arrival;
  known: Known;
  policy: Policy | null;
  written: Meaning;
}

function decideTyped({ arrival, known, policy, written }: TypedCase): Meaning {
  const typed = typedText(arrival);
  if (typed === null || policy === null) return { ...written, events: [receivedEvent(arrival, known)] };
  const answer = replyToTyping(arrival, known, { text: typed, ttlHours: policy.menu_ttl_hours });
  const events = [receivedEvent(arrival, known, answer?.reply)];
  // Opt-outs apply to direct chats only, so text in groups is not matched.
  const asks = arrival.chat.kind === 'contact' ? recogniseOptOut(typed, policy.opt_out) : null;
  const word = asks && { asks, keyword: typed.trim() };
  return { ...written, answer, events, word };
}

type Change = NonNullable<Incoming['change']>;

interface ChangeCase {
  arrival: Arrival;
  known: Known;
  written: Meaning;
}

/** An edit, deletion or reaction by the contact or by another device of the account. */
function decideChange({ arrival, known, written }: ChangeCase, change: Change): Meaning | IgnoredReason {
  const { message, at } = arrival;
  const { target } = known;
  const verdict = judgeChange(arrival, known, change);
  if (verdict === 'new_text') return { ...written, events: [receivedEvent(asText(arrival, change), known)] };
  if (verdict !== 'applies') return verdict;
  const subject = {
    ...buildSubject(arrival, known),
    messageId: target?.id ?? null,
    waMessageId: change.wa_message_id,
  };
  const author: Author = message.from_me
    ? { from_me: true }
    : { from_me: false, from: buildSender(arrival, known) };
  const edits = change.kind === 'edit' ? subject.messageId : null;
  const deletes = change.kind === 'delete' ? subject.messageId : null;
  return { ...NOTHING, events: [changeEvent(change, subject, at, author)], edits, deletes };
}

/** The text of an edit as a message of its own. */
function asText(arrival: Arrival, change: Change): Arrival {
  const { text, details } = change.kind === 'edit' ? change : { text: null };
  const message = { ...arrival.message, text, kind: 'edit', ...(details && { details }) };
  return { ...arrival, message };
}

function changeEvent(change: Change, subject: MessageSubject, at: Date, author: Author): EventDraft {
  switch (change.kind) {
    case 'edit':
      return messageEvent('message.edited', subject, at, {
        ...{ ...author, text: change.text },
        ...(change.details && { details: change.details }),
      });
    case 'delete':
      return messageEvent('message.deleted', subject, at, author);
    case 'reaction':
      return messageEvent('message.reaction', subject, at, { ...author, emoji: change.emoji });
  }
}

/**
 * Anyone may react. Only the author may edit a message or delete it for everyone; admins of a group may delete messages of
 * others. Nobody can show to be the author of a message that is unknown in the conversation. The text of its edit is a
 * message of its own then, because the original may never have arrived.
 */
function judgeChange(
  arrival: Arrival,
  known: Known,
  change: Change,
): 'applies' | 'new_text' | 'unknown_message' | 'not_author' {
  const { from_me } = arrival.message;
  const { target } = known;
  if (change.kind === 'reaction' || (change.kind === 'delete' && isAdmin(arrival, change))) return 'applies';
  // Messages sent from a device of the account are unknown here.
  if (!target && from_me) return 'applies';
  if (!target) return change.kind === 'edit' ? 'new_text' : 'unknown_message';
  return isAuthor(arrival, known, target) ? 'applies' : 'not_author';
}

/** The own account deletes messages of others only as an admin. */
function isAdmin({ message, chat }: Arrival, change: Change): boolean {
  if (chat.kind !== 'group' || change.kind !== 'delete') return false;
  return message.from_me || change.by_admin === true;
}

function isAuthor(arrival: Arrival, { senderId, senderPhone }: Known, target: Target): boolean {
  const { message, chat } = arrival;
  const { direction, participant, authorId = null } = target;
  if (message.from_me || direction === 'outbound') return message.from_me && direction === 'outbound';
  if (chat.kind === 'contact' || participant === null) return chat.kind === 'contact';
  const ids = senderPhone === null ? senderIds(arrival) : [...senderIds(arrival), networkId(senderPhone)];
  return ids.includes(participant) || (authorId !== null && authorId === senderId);
}

/** Event of an opt-out or opt-in word, emitted if the word changed something (words.ts). */
export function wordEvent(arrival: Arrival, known: Known, { asks, keyword }: Word): EventDraft {
  const type = asks === 'opt_out' ? 'contact.opted_out' : 'contact.opted_in';
  const { accountId, instanceId } = buildSubject(arrival, known);
  const { messageId, at } = arrival;
  const data = {
    instance_id: toPublicId('instance', instanceId),
    message_id: toPublicId('message', messageId),
    contact: buildSender(arrival, known),
    keyword,
    timestamp: at.toISOString(),
  };
  return { accountId, instanceId, type, data };
}
