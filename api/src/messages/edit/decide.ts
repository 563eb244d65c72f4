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

/**
 * Decides a deletion: refuse it, do nothing (the message is deleted or canceled already), cancel the send (it is scheduled
 * and unclaimed), or delete it on the network for everyone.
 */
export function decideDelete(
  message: EditableMessage,
): { refuse: ProblemCode } | 'nothing' | 'cancel' | 'delete' {
  const { direction, status, errorCode, scheduledFor, deletedForAll } = message;
  if (direction !== 'outbound') return { refuse: 'not-editable' };
  if (deletedForAll || errorCode === 'canceled') return 'nothing';
  if (hasLeft(status)) return 'delete';
  if (status === 'sending') return { refuse: 'message-sending' };
  if (status === 'queued' && scheduledFor !== null) return 'cancel';
  return { refuse: 'message-not-sent' };
}

/** Returns the problem of a reaction, or null. Inbound messages can be reacted to as well. */
export function decideReaction({ status }: EditableMessage): ProblemCode | null {
  return hasLeft(status) ? null : 'message-not-sent';
}
