import { messageEvent, type Author, type EventDraft } from '../events/emit.js';
import type { Arrival, Incoming } from './arrival.js';
import type { Known, Target } from './gather.js';
import { networkId, buildSender, buildSubject } from './subject.js';

type Change = NonNullable<Incoming['change']>;

/** Builds the events of an edit, deletion or reaction by the contact or by another device of the account. */
export function changeEvents(
  arrival: Arrival,
  known: Known,
  change: Change,
): { events: EventDraft[]; deletes: string | null } {
  const { message, at } = arrival;
  const target = known.target && isPlausible(arrival, known.target, change) ? known.target : null;
  const subject = {
    ...buildSubject(arrival, known),
    messageId: target?.messageId ?? null,
    waMessageId: change.wa_message_id,
  };
  const author: Author = message.from_me
    ? { from_me: true }
    : { from_me: false, from: buildSender(arrival, known) };
  switch (change.kind) {
    case 'edit': {
      const { text } = change;
      return { events: [messageEvent('message.edited', subject, at, { ...author, text })], deletes: null };
    }
    case 'delete': {
      const events = [messageEvent('message.deleted', subject, at, author)];
      return { events, deletes: target?.messageId ?? null };
    }
    case 'reaction': {
      const { emoji } = change;
      return { events: [messageEvent('message.reaction', subject, at, { ...author, emoji })], deletes: null };
    }
  }
}

/**
 * Anyone may react. Only the author may edit a message or delete it for everyone; group admins may also delete messages of
 * others. Any other change is reported without the id of a message in gwk.
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
