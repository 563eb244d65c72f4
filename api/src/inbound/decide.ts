import { recogniseOptOut } from '@gwk/core/policy/opt-out-words';
import type { Policy } from '@gwk/core/policy/policy';
import { contactOpted, messageReceived, type EventDraft, type Reply } from '../events/emit.js';
import { typedText, type Arrival } from './arrival.js';
import { changeEvents } from './changes.js';
import type { Known } from './gather.js';
import { clickedIn, replyToClick, replyToTyping, readVote, type Answer, type Vote } from './replies.js';
import { buildReceived, buildSender, buildSubject } from './subject.js';

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
  deletes: null,
  word: null,
};

/**
 * @param policy effective policy, if something was typed
 * @returns null for a message without any effect: a vote in an unknown poll
 */
export function decide(arrival: Arrival, known: Known, policy: Policy | null): Meaning | null {
  // No such instance.
  if (known.accountId === null) return NOTHING;
  const { message } = arrival;
  if (message.change) return { ...NOTHING, ...changeEvents(arrival, known, message.change) };
  const written = { ...NOTHING, hasRow: !message.from_me, wrote: !message.from_me };
  const vote = message.vote || message.tap ? readVote(arrival, known) : null;
  if (vote) return decideVote(arrival, known, { ...written, vote });
  if (message.vote) return null;
  const clicked = clickedIn(arrival);
  const answer = clicked && replyToClick(arrival, known, clicked);
  if (answer) return { ...written, answer, events: [received(arrival, known, answer.reply)] };
  return decideTyped({ arrival, known, policy, written });
}

function decideVote(arrival: Arrival, known: Known, written: Meaning & { vote: Vote }): Meaning {
  const { pollId, replies } = written.vote;
  const [first] = replies;
  if (!first) return { ...NOTHING, vote: written.vote };
  const events = replies.map((reply) => received(arrival, known, reply));
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
  if (typed === null || policy === null) return { ...written, events: [received(arrival, known)] };
  const answer = replyToTyping(arrival, known, { text: typed, ttlHours: policy.menu_ttl_hours });
  const events = [received(arrival, known, answer?.reply)];
  // Opt-outs apply to direct chats only, so text in groups is not matched.
  const asks = arrival.chat.kind === 'contact' ? recogniseOptOut(typed, policy.opt_out) : null;
  const word = asks && { asks, keyword: typed.trim() };
  return { ...written, answer, events, word };
}

function received(arrival: Arrival, known: Known, reply?: Reply): EventDraft {
  return messageReceived({
    ...buildReceived(arrival, known),
    ...(reply && { reply, text: textOf(arrival, reply) }),
  });
}

/** Text of a reply: the label for a click or vote without text. */
const textOf = ({ message }: Arrival, reply: Reply): string => message.text ?? reply.label;

/** Event of an opt-out or opt-in word, emitted if the word changed something (words.ts). */
export function wordEvent(arrival: Arrival, known: Known, { asks, keyword }: Word): EventDraft {
  const type = asks === 'opt_out' ? 'contact.opted_out' : 'contact.opted_in';
  const { accountId, instanceId } = buildSubject(arrival, known);
  const { messageId, at } = arrival;
  return contactOpted(type, { accountId, instanceId, messageId, at }, buildSender(arrival, known), keyword);
}
