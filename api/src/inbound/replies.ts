import { createHash } from 'node:crypto';
import { toPublicId } from '@gwk/core/ids';
import { recogniseReply, type MenuOption } from '@gwk/core/menus/replies';
import { diffVote, toggleOption } from '@gwk/core/menus/votes';
import type { Reply } from '../events/emit.js';
import { targetOf, voterOf, type Arrival } from './arrival.js';
import type { Known, KnownMenu } from './gather.js';

/** Answers to menus: by a click, by typing, by a vote (spec: Interactive reply recognition rules). */
export interface Answer {
  /** Null where the menu is none that is kept here. */
  menuId: string | null;
  /** Counts only while nobody has answered. */
  typed: boolean;
  reply: Reply;
}

export interface Vote {
  pollId: string;
  voter: string;
  /** What it was decided on; null: never voted. */
  before: number[] | null;
  now: number[];
  /** Options chosen, then those withdrawn: the first event is the one that a sandbox names. */
  replies: Reply[];
}

/** What was clicked, or tapped where no poll is known. */
interface Clicked {
  option_id: string;
  label: string | null;
  source: Reply['source'];
}

export function replyToClick(arrival: Arrival, known: Known, clicked: Clicked): Answer {
  const menu = menuOf(arrival, known);
  const menuId = menu?.messageId ?? null;
  const outbound = known.target?.direction === 'outbound' ? known.target.messageId : null;
  const messageId = menuId ?? outbound;
  const reply: Reply = {
    option_id: clicked.option_id,
    label: clicked.label ?? labelIn(menu, clicked.option_id) ?? arrival.message.text ?? '',
    source: clicked.source,
    in_reply_to: messageId && toPublicId('message', messageId),
    in_reply_to_wa_message_id: menu?.waMessageId ?? targetOf(arrival),
  };
  return { menuId, typed: false, reply };
}

/** Null where it was neither. */
export function clickedIn({ message: { click, tap } }: Arrival): Clicked | null {
  return click ?? (tap ? { ...tap, source: 'poll' } : null);
}

const labelIn = (menu: KnownMenu | null, optionId: string): string | undefined =>
  menu?.options.find(({ id }) => id === optionId)?.label;

export function replyToTyping(
  { message, at }: Arrival,
  known: Known,
  { text, ttlHours }: { text: string; ttlHours: number },
): Answer | null {
  const menus = [known.newestMenu, known.quotedMenu].filter((menu) => menu !== null);
  const newestFirst = known.newestMenu ? menus : [];
  const typed = { text, quotedWaMessageId: message.quoted_wa_message_id, at };
  const found = recogniseReply(typed, newestFirst, ttlHours);
  if (!found) return null;
  return { menuId: found.menu.messageId, typed: true, reply: replyOf(found.menu, found.option, 'text') };
}

/** A click names its menu; where it does not, it is the newest one. */
function menuOf(arrival: Arrival, known: Known): KnownMenu | null {
  return targetOf(arrival) === null ? known.newestMenu : known.targetMenu;
}

/**
 * Null for a poll that is not known here (one that a device of the number sent, or one long gone), and for a tap on what
 * is no option of it.
 */
export function voteOf(arrival: Arrival, known: Known): Vote | null {
  const poll = menuOf(arrival, known);
  const { tap } = arrival.message;
  if (poll?.kind !== 'poll' || (tap && !poll.options.some(({ id }) => id === tap.option_id))) return null;
  const before = known.chosen ?? [];
  const now = choiceOf(arrival, poll, before);
  const { withdrawn, chosen } = diffVote(before, now);
  const reply = (place: number): Reply => replyOf(poll, poll.options[place]!, 'poll');
  return {
    pollId: poll.messageId,
    voter: voterOf(arrival)!,
    before: known.chosen,
    now,
    replies: [
      ...chosen.map(reply),
      ...withdrawn.map((place) => ({ ...reply(place), vote_removed: true as const })),
    ],
  };
}

function choiceOf({ message }: Arrival, poll: KnownMenu, before: number[]): number[] {
  if (message.tap) {
    const place = poll.options.findIndex(({ id }) => id === message.tap!.option_id);
    return toggleOption(before, place, poll.selectable ?? 1);
  }
  const digests = poll.options.map(({ label }) => createHash('sha256').update(label).digest('hex'));
  return message
    .vote!.chosen.map((option) => digests.indexOf(option))
    .filter((place) => place !== -1)
    .sort((a, b) => a - b);
}

function replyOf(
  menu: Pick<KnownMenu, 'messageId' | 'waMessageId'>,
  option: MenuOption,
  source: 'text' | 'poll',
): Reply {
  return {
    option_id: option.id,
    label: option.label,
    source,
    in_reply_to: toPublicId('message', menu.messageId),
    in_reply_to_wa_message_id: menu.waMessageId,
  };
}
