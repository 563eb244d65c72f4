import type { ProblemCode } from '@gwk/core/problems';
import { hasLeft } from '@gwk/core/states';

/**
 * Whether a message can be edited, deleted for everyone or reacted to (spec: Rules for sending 3; design: edit, delete,
 * react elsewhere). Pure: the message as it is, and the code of the refusal.
 */
export interface Alterable {
  direction: string;
  type: string;
  status: string;
  errorCode: string | null;
  sentAt: Date | null;
  scheduledFor: Date | null;
  deletedForAll: boolean;
}

export const EDIT_WINDOW_MS = 15 * 60_000;

/** What can never be edited is said first: waiting would not help. */
export function judgeEdit(message: Alterable, now: Date): ProblemCode | null {
  const { direction, type, status, sentAt, deletedForAll } = message;
  if (direction !== 'outbound' || type !== 'text' || deletedForAll) return 'not-editable';
  if (!hasLeft(status) || sentAt === null) return 'message-not-sent';
  return now.getTime() - sentAt.getTime() > EDIT_WINDOW_MS ? 'edit-window-closed' : null;
}

export type DeleteVerdict =
  | { do: 'refuse'; code: ProblemCode }
  /** It is deleted or canceled already. */
  | { do: 'nothing' }
  /** It was scheduled and has not been claimed: its send is canceled. */
  | { do: 'cancel' }
  /** It left: the network is asked to delete it for everyone. */
  | { do: 'delete' };

export function judgeDelete(message: Alterable): DeleteVerdict {
  const { direction, status, errorCode, scheduledFor, deletedForAll } = message;
  if (direction !== 'outbound') return { do: 'refuse', code: 'not-editable' };
  if (deletedForAll || errorCode === 'canceled') return { do: 'nothing' };
  if (hasLeft(status)) return { do: 'delete' };
  if (status === 'sending') return { do: 'refuse', code: 'message-sending' };
  if (status === 'queued' && scheduledFor !== null) return { do: 'cancel' };
  return { do: 'refuse', code: 'message-not-sent' };
}

/** What came in can be reacted to like what left. */
export function judgeReaction({ status }: Alterable): ProblemCode | null {
  return hasLeft(status) ? null : 'message-not-sent';
}
