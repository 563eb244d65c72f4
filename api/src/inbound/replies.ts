import { createHash } from 'node:crypto';
import { toPublicId } from '@gwk/core/ids/ids';
import { recogniseReply } from './menus/replies.js';
import type { MenuOption } from '@gwk/core/protocol/engine';
import { diffVote, toggleOption } from './menus/votes.js';
import type { MenuReply } from '@gwk/core/resources/event-data';
import { targetId, voterNames, type Arrival } from './arrival.js';
import type { Known, KnownMenu } from './gather.js';

/** Answer to a menu by a click, typed text or a vote (docs/interface.md). */
export interface Answer {
  /** Null: the menu is unknown. */
  menuId: string | null;
  /** A typed answer counts only if nobody has answered before. */
  typed: boolean;
  reply: MenuReply;
}

export interface Vote {
  pollId: string;
  /** Names of the voter. The vote is stored under the first one. */
  voters: string[];
  /** Choice before this vote; null: has not voted. */
  before: number[] | null;
  now: number[];
  /** Chosen options, then withdrawn ones: the sandbox answer contains the first event. */
  replies: MenuReply[];
}

/** A clicked option, or a tapped one of an unknown poll. */
interface Clicked {
  option_id: string;
  label: string | null;
  source: MenuReply['source'];
}

/**
 * Null for a click that cannot come from the menu: made in another conversation, or on an option that it lacks. A sandbox
 * accepts any option.
 */
export function replyToClick(arrival: Arrival, known: Known, clicked: Clicked): Answer | null {
  const menu = menuOf(arrival, known);
  if (!mayClick(arrival, menu, clicked)) return null;
  const menuId = menu?.messageId ?? null;
  const messageId = menuId ?? findOutbound(known);
  const reply: MenuReply = {
    option_id: clicked.option_id,
    label: labelIn(menu, clicked.option_id) ?? clicked.label ?? arrival.message.text ?? '',
    source: clicked.source,
    in_reply_to: messageId && toPublicId('message', messageId),
    in_reply_to_wa_message_id: menu?.waMessageId ?? targetId(arrival),
  };
  return { menuId, typed: false, reply };
}

function mayClick(arrival: Arrival, menu: KnownMenu | null, { option_id }: Clicked): boolean {
  if (quotesOtherChat(arrival)) return false;
  return !menu || (!menu.elsewhere && (arrival.lease === null || labelIn(menu, option_id) !== undefined));
}

/** A menu that is no longer stored. */
const findOutbound = ({ target }: Known): string | null =>
  target?.direction === 'outbound' ? target.id : null;

/** Returns the clicked or tapped option; null: neither. */
export function clickedIn({ message: { click, tap } }: Arrival): Clicked | null {
  return click ?? (tap ? { ...tap, source: 'poll' } : null);
}

const labelIn = (menu: KnownMenu | null, optionId: string): string | undefined =>
  menu?.options.find(({ id }) => id === optionId)?.label;

export function replyToTyping(
  arrival: Arrival,
  known: Known,
  { text, ttlHours }: { text: string; ttlHours: number },
): Answer | null {
  const { message, at } = arrival;
  if (quotesOtherChat(arrival)) return null;
  const menus = [known.newestMenu, known.quotedMenu].filter((menu) => menu !== null);
  const newestFirst = known.newestMenu ? menus : [];
  const typed = { text, quotedWaMessageId: message.quoted_wa_message_id, at };
  const found = recogniseReply(typed, newestFirst, ttlHours);
  if (!found) return null;
  return { menuId: found.menu.messageId, typed: true, reply: replyOf(found.menu, found.option, 'text') };
}

/** A reply to a status, or to a message of another chat, is never an answer to a menu. */
const quotesOtherChat = ({ message }: Arrival): boolean => message.quoted?.chat !== undefined;

/** Returns the menu that the click names, else the newest one. */
function menuOf(arrival: Arrival, known: Known): KnownMenu | null {
  return targetId(arrival) === null ? known.newestMenu : known.targetMenu;
}

/**
 * Reads a vote. Null for an unknown poll (sent from another device of the account, or deleted) and for a tap on an unknown
 * option.
 */
export function readVote(arrival: Arrival, known: Known): Vote | null {
  const poll = menuOf(arrival, known);
  const { tap } = arrival.message;
  if (poll?.kind !== 'poll' || poll.elsewhere) return null;
  if (tap && !poll.options.some(({ id }) => id === tap.option_id)) return null;
  const before = known.chosen ?? [];
  const now = choiceOf(arrival, poll, before);
  const { withdrawn, chosen } = diffVote(before, now);
  const reply = (place: number): MenuReply => replyOf(poll, poll.options[place]!, 'poll');
  return {
    pollId: poll.messageId,
    voters: voterNames(arrival),
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
): MenuReply {
  return {
    option_id: option.id,
    label: option.label,
    source,
    in_reply_to: toPublicId('message', menu.messageId),
    in_reply_to_wa_message_id: menu.waMessageId,
  };
}
