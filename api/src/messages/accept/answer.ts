import { timeOfUuid, toPublicId } from '@gwk/core/ids';
import type { MessageOut } from '@gwk/core/resources/message';

/**
 * The answer to an accepted send (202). All of it but `scheduled_for` follows from the request and the id of the
 * message, so it is not kept for replays: the request that repeats another brings what it needs.
 */
export interface AcceptedMessage {
  messageId: string;
  instanceId: string;
  to: string;
  type: string;
  /** Null: now. */
  releaseAt: Date | null;
}

/** JSON of MessageOut; begins with the id. */
export function answerOf({ messageId, instanceId, to, type, releaseAt }: AcceptedMessage): string {
  const time = new Date(timeOfUuid(messageId)).toISOString();
  const message: MessageOut = {
    id: toPublicId('message', messageId),
    instance_id: toPublicId('instance', instanceId),
    direction: 'outbound',
    to,
    type: type as MessageOut['type'],
    status: 'queued',
    wa_message_id: null,
    rendered_as: null,
    error: null,
    created_at: time,
    sent_at: null,
    delivered_at: null,
    read_at: null,
    failed_at: null,
    // Not shown where it is not defined.
    scheduled_for: releaseAt?.toISOString(),
    updated_at: time,
  };
  return JSON.stringify(message);
}
