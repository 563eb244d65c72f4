import { parseUuidTime, toPublicId } from '@gwk/core/ids';

/**
 * The fields that determine the 202 response of a send. A replay rebuilds the response from its own request and the id
 * of the message. Only `scheduled_for` cannot be rebuilt, so responses of scheduled messages are stored.
 */
interface ResponseFields {
  messageId: string;
  instanceId: string;
  to: string;
  type: string;
  /** Null: not scheduled. */
  releaseAt: Date | null;
}

/**
 * Builds the JSON of MessageOut by concatenation, which is faster than `JSON.stringify`. The variable values are ids,
 * types, times and validated recipients, so nothing needs escaping. The JSON starts with the id.
 */
export function buildResponse({ messageId, instanceId, to, type, releaseAt }: ResponseFields): string {
  const time = new Date(parseUuidTime(messageId)).toISOString();
  // Left out, not null, for messages that are not scheduled.
  const scheduled = releaseAt === null ? '' : `"scheduled_for":"${releaseAt.toISOString()}",`;
  return (
    `{"id":"${toPublicId('message', messageId)}","instance_id":"${toPublicId('instance', instanceId)}",` +
    `"direction":"outbound","to":"${to}","type":"${type}","status":"queued","wa_message_id":null,` +
    `"rendered_as":null,"error":null,"created_at":"${time}","sent_at":null,"delivered_at":null,"read_at":null,` +
    `"failed_at":null,${scheduled}"updated_at":"${time}"}`
  );
}
