import { newUuid, parseUuidTime, toPublicId } from '@gwk/core/ids';
import { MESSAGE_TYPES, MessageOut } from '@gwk/core/resources/message';
import { buildResponse } from './response.js';

const TO = ['5511999990000', '5511999990000@s.whatsapp.net', '123456:7@lid', '120363012345678901@g.us'];

test.each(TO.flatMap((to) => MESSAGE_TYPES.map((type) => [type, to] as const)))(
  'the response to a %s to %s equals MessageOut byte for byte',
  (type, to) => {
    for (const releaseAt of [null, new Date('2026-01-02T03:04:05.678Z')]) {
      const [messageId, instanceId] = [newUuid(), newUuid()];
      const text = buildResponse({ messageId, instanceId, to, type, releaseAt });
      const time = new Date(parseUuidTime(messageId)).toISOString();
      const message = {
        id: toPublicId('message', messageId),
        instance_id: toPublicId('instance', instanceId),
        direction: 'outbound',
        to,
        type,
        status: 'queued',
        wa_message_id: null,
        rendered_as: null,
        error: null,
        created_at: time,
        sent_at: null,
        delivered_at: null,
        read_at: null,
        failed_at: null,
        ...(releaseAt && { scheduled_for: releaseAt.toISOString() }),
        updated_at: time,
      };
      expect(text).toBe(JSON.stringify(message));
      expect(MessageOut.parse(JSON.parse(text))).toEqual(message);
    }
  },
);
