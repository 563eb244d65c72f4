import { parseUuidTime, toPublicId } from '@gwk/core/ids';

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

/**
 * JSON of MessageOut; begins with the id. Put together by hand, because it is the same for every message but for four
 * values and a time, none of which has anything to escape: ids, types, and recipients of a form that was judged.
 */
export function answerOf({ messageId, instanceId, to, type, releaseAt }: AcceptedMessage): string {
  const time = new Date(parseUuidTime(messageId)).toISOString();
  // Not shown where it is not defined.
  const scheduled = releaseAt === null ? '' : `"scheduled_for":"${releaseAt.toISOString()}",`;
  return (
    `{"id":"${toPublicId('message', messageId)}","instance_id":"${toPublicId('instance', instanceId)}",` +
    `"direction":"outbound","to":"${to}","type":"${type}","status":"queued","wa_message_id":null,` +
    `"rendered_as":null,"error":null,"created_at":"${time}","sent_at":null,"delivered_at":null,"read_at":null,` +
    `"failed_at":null,${scheduled}"updated_at":"${time}"}`
  );
}
