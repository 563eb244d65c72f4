import { toPublicId } from '@gwk/core/ids';
import type { MessageOut } from '@gwk/core/resources/message';
import { hasLeft, type FailureCode, type MessageStatus, type Rendering } from '@gwk/core/states';
import type { Message } from '../generated/prisma/client.js';

/** The columns that a response shows. */
export type ListedMessage = Pick<
  Message,
  | 'id'
  | 'instanceId'
  | 'direction'
  | 'to'
  | 'type'
  | 'status'
  | 'waMessageId'
  | 'renderedAs'
  | 'errorCode'
  | 'errorMessage'
  | 'createdAt'
  | 'scheduledFor'
  | 'sentAt'
  | 'deliveredAt'
  | 'readAt'
  | 'failedAt'
  | 'updatedAt'
>;

export function messageOut(row: ListedMessage): MessageOut {
  const { errorCode } = row;
  return {
    id: toPublicId('message', row.id),
    instance_id: toPublicId('instance', row.instanceId),
    direction: row.direction as MessageOut['direction'],
    to: row.to,
    type: row.type as MessageOut['type'],
    status: row.status as MessageStatus,
    // The id exists from acceptance on. It is shown once the network has accepted the message.
    wa_message_id: hasLeft(row.status) ? row.waMessageId : null,
    rendered_as: row.renderedAs as Rendering | null,
    error: errorCode === null ? null : { code: errorCode as FailureCode, message: row.errorMessage },
    created_at: row.createdAt.toISOString(),
    sent_at: iso(row.sentAt),
    delivered_at: iso(row.deliveredAt),
    read_at: iso(row.readAt),
    failed_at: iso(row.failedAt),
    ...(row.scheduledFor && { scheduled_for: row.scheduledFor.toISOString() }),
    updated_at: row.updatedAt.toISOString(),
  };
}

const iso = (time: Date | null): string | null => time?.toISOString() ?? null;
