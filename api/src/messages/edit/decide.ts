import type { ProblemCode } from '@gwk/core/problems';
import { hasLeft } from '@gwk/core/states';
import type { Message } from '../../generated/prisma/client.js';

/**
 * The state of a message that decides whether it can be edited, deleted for everyone or reacted to. The rules are part of
 * the HTTP interface (docs/interface.md). Everything in this file is pure.
 */
export type EditableMessage = Pick<
  Message,
  'direction' | 'type' | 'status' | 'errorCode' | 'sentAt' | 'scheduledFor' | 'deletedForAll'
>;

export const EDIT_WINDOW_MS = 15 * 60_000;

/**
 * Returns the problem of an edit, or null. `not-editable` comes before `message-not-sent`, because a client would wait in
 * vain for the message to be sent.
 */
export function decideEdit(message: EditableMessage, now: Date): ProblemCode | null {
  const { direction, type, status, sentAt, deletedForAll } = message;
  if (direction !== 'outbound' || type !== 'text' || deletedForAll) return 'not-editable';
  if (!hasLeft(status) || sentAt === null) return 'message-not-sent';
  return now.getTime() - sentAt.getTime() > EDIT_WINDOW_MS ? 'edit-window-closed' : null;
}

type DeleteDecision =
  | { do: 'refuse'; code: ProblemCode }
  /** The message is deleted or canceled already. */
  | { do: 'nothing' }
  /** The message is scheduled and unclaimed: cancels the send. */
  | { do: 'cancel' }
  /** The message has been sent: deletes it on the network for everyone. */
  | { do: 'delete' };

export function decideDelete(message: EditableMessage): DeleteDecision {
  const { direction, status, errorCode, scheduledFor, deletedForAll } = message;
  if (direction !== 'outbound') return { do: 'refuse', code: 'not-editable' };
  if (deletedForAll || errorCode === 'canceled') return { do: 'nothing' };
  if (hasLeft(status)) return { do: 'delete' };
  if (status === 'sending') return { do: 'refuse', code: 'message-sending' };
  if (status === 'queued' && scheduledFor !== null) return { do: 'cancel' };
  return { do: 'refuse', code: 'message-not-sent' };
}

/** Returns the problem of a reaction, or null. Inbound messages can be reacted to as well. */
export function decideReaction({ status }: EditableMessage): ProblemCode | null {
  return hasLeft(status) ? null : 'message-not-sent';
}
