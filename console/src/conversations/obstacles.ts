import type { components } from '../generated/api';
import type { Instance } from '../numbers/queries';

export type Conversation = components['schemas']['ConversationOut'];
type Hours = NonNullable<components['schemas']['PolicyOut']['active_hours']>;

/** Why a message to the conversation does not leave now. */
export interface Obstacle {
  code:
    | 'role'
    | 'kind'
    | 'deleted'
    | 'optedOut'
    | 'notPaired'
    | 'banned'
    | 'offline'
    | 'restricted'
    | 'hours'
    | 'waitsForHours';
  /** Whether it is useless to write. Otherwise the message waits, or an older message of the contact may permit it. */
  blocks: boolean;
  until?: string;
}

interface Situation {
  maySend: boolean;
  conversation: Pick<Conversation, 'kind' | 'opted_out'>;
  /** Undefined: deleted. */
  instance: Pick<Instance, 'state'> | undefined;
  /** End of a restriction by WhatsApp. */
  restrictedUntil: string | null;
  hours: Hours | null;
  /** When the contact last wrote, as far as messages are loaded; null: never. Groups count as contacts who write. */
  lastReceived: string | null;
  now: number;
}

const DAY_MS = 86_400_000;

/** Decides what to tell before somebody writes: the first reason why the message would not leave now. */
export function findObstacle(situation: Situation): Obstacle | null {
  const block = findBlock(situation);
  if (block) return { code: block, blocks: true };
  return findDelay(situation);
}

function findBlock({ maySend, conversation, instance }: Situation): Obstacle['code'] | null {
  if (!maySend) return 'role';
  if (conversation.kind === 'other') return 'kind';
  if (!instance) return 'deleted';
  if (conversation.opted_out) return 'optedOut';
  if (instance.state === 'banned') return 'banned';
  return instance.state === 'logged_out' || instance.state === 'pending_pair' ? 'notPaired' : null;
}

function findDelay(situation: Situation): Obstacle | null {
  const { conversation, instance, restrictedUntil, hours, lastReceived, now } = situation;
  // A group counts as a contact who writes.
  const writtenAt = conversation.kind === 'group' ? now : Date.parse(lastReceived ?? '');
  if (Number.isNaN(writtenAt) && restrictedUntil !== null && Date.parse(restrictedUntil) > now)
    return { code: 'restricted', blocks: false, until: restrictedUntil };
  const wroteToday = now - writtenAt < DAY_MS;
  if (!wroteToday && hours && !isWithin(hours, now)) {
    const code = hours.outside === 'reject' ? 'hours' : 'waitsForHours';
    return { code, blocks: false, until: hours.start };
  }
  return instance?.state === 'connected' ? null : { code: 'offline', blocks: false };
}

/** A window whose end is not after its start ends on the next day. */
function isWithin({ start, end, timezone }: Hours, now: number): boolean {
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' });
  const time = clock.format(now);
  return end > start ? time >= start && time < end : time >= start || time < end;
}
