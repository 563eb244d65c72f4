import type { LocalText } from '@gwk/core/language';
import type { ProblemCode } from '@gwk/core/problems/problems';
import { hasLeft } from '@gwk/core/states';
import type { Message } from '../../generated/prisma/client.js';

/**
 * The state of a message that decides whether it can be edited, deleted for everyone or reacted to. The rules are part of
 * the HTTP interface (docs/interface.md). Everything in this file is pure.
 */
export type EditableMessage = Pick<
  Message,
  'direction' | 'type' | 'status' | 'errorCode' | 'sentAt' | 'scheduledFor' | 'deletedForAll' | 'participant'
>;

export const EDIT_WINDOW_MS = 15 * 60_000;
/** Phones ignore later deletions of messages of other people. */
export const ADMIN_DELETE_WINDOW_MS = 60 * 3_600_000;

/** Details of `not-editable` for messages of other people. */
export const NOT_EDITABLE = {
  edit: {
    pt: 'Só quem escreveu uma mensagem pode editá-la.',
    en: 'Only the author of a message can edit it.',
  },
  contact: {
    pt: 'Só quem escreveu esta mensagem pode apagá-la para todos. Em grupos, administradores também podem.',
    en: 'Only the author of this message can delete it for everyone. In groups, admins can too.',
  },
  late: {
    pt: 'Passaram-se mais de 60 horas: os telefones não apagam mais esta mensagem.',
    en: 'More than 60 hours have passed: phones no longer delete this message.',
  },
  notAdmin: {
    pt: 'O número não é administrador do grupo. Só quem escreveu a mensagem e administradores podem apagá-la.',
    en: 'The number is no admin of the group. Only the author of the message and admins can delete it.',
  },
} as const satisfies Record<string, LocalText>;

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
 * Decides a deletion. A message of another member of a group can be deleted by an admin; the engine asks the network
 * whether this number is one. For other messages: refuse it, do nothing (the message is deleted or canceled already), cancel the send (it is scheduled
 * and unclaimed), or delete it on the network for everyone.
 */
export function decideDelete(
  message: EditableMessage,
  now: Date,
): { refuse: ProblemCode; detail?: LocalText } | 'nothing' | 'cancel' | 'delete' {
  const { direction, status, errorCode, scheduledFor, deletedForAll } = message;
  if (direction !== 'outbound' && message.participant === null)
    return { refuse: 'not-editable', detail: NOT_EDITABLE.contact };
  if (deletedForAll || errorCode === 'canceled') return 'nothing';
  if (direction !== 'outbound') return decideAdminDelete(message, now);
  if (hasLeft(status)) return 'delete';
  if (status === 'sending') return { refuse: 'message-sending' };
  if (status === 'queued' && scheduledFor !== null) return 'cancel';
  return { refuse: 'message-not-sent' };
}

function decideAdminDelete({ sentAt }: EditableMessage, now: Date): ReturnType<typeof decideDelete> {
  const isLate = sentAt !== null && now.getTime() - sentAt.getTime() > ADMIN_DELETE_WINDOW_MS;
  return isLate ? { refuse: 'not-editable', detail: NOT_EDITABLE.late } : 'delete';
}

/** Returns the problem of a reaction, or null. Inbound messages can be reacted to as well. */
export function decideReaction({ status }: EditableMessage): ProblemCode | null {
  return hasLeft(status) ? null : 'message-not-sent';
}
