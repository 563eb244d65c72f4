import {
  messageDeleted,
  messageEdited,
  messageReaction,
  type Author,
  type EventDraft,
} from '../events/emit.js';
import type { Arrival, Incoming } from './arrival.js';
import type { Known, Target } from './gather.js';
import { networkId, senderOf, subjectOf } from './subject.js';

type Change = NonNullable<Incoming['change']>;

/** Edits, deletions and reactions of the contact, or of the number itself from one of its devices. */
export function changeEvents(
  arrival: Arrival,
  known: Known,
  change: Change,
): { events: EventDraft[]; deletes: string | null } {
  const { message, at } = arrival;
  const target = known.target && isPlausible(arrival, known.target, change) ? known.target : null;
  const subject = {
    ...subjectOf(arrival, known),
    messageId: target?.messageId ?? null,
    waMessageId: change.wa_message_id,
  };
  const author: Author = message.from_me
    ? { from_me: true }
    : { from_me: false, from: senderOf(arrival, known) };
  switch (change.kind) {
    case 'edit':
      return { events: [messageEdited(subject, at, author, change.text)], deletes: null };
    case 'delete':
      return { events: [messageDeleted(subject, at, author)], deletes: target?.messageId ?? null };
    case 'reaction':
      return { events: [messageReaction(subject, at, author, change.emoji)], deletes: null };
  }
}

/**
 * Anybody may react to anything; only who wrote a message may edit it, and delete it for everyone, except that the
 * admin of a group may delete what others wrote. What says otherwise is told, but of no message of ours.
 */
function isPlausible({ message, chat }: Arrival, target: Target, change: Change): boolean {
  if (change.kind === 'reaction') return true;
  if (chat.kind === 'group' && change.kind === 'delete') return true;
  const byUs = target.direction === 'outbound';
  return (
    byUs === message.from_me &&
    (byUs || chat.kind === 'contact' || target.participant === networkId(message.from))
  );
}
