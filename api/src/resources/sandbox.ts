import { z } from 'zod';
import { EVENT_TYPES } from '@gwk/core/events';
import { text, Username } from '@gwk/core/resources/common';
import { MAX_TEXT } from '@gwk/core/resources/content';
import { GROUP_CHANGES } from '@gwk/core/resources/event-data';
import { MAX_NOTICE_MEMBERS } from '@gwk/core/protocol/sizes';

const group = () =>
  z
    .string()
    .regex(/^[0-9-]{5,60}@g\.us$/)
    .meta({ examples: ['120363041234567890@g.us'] });

/** A phone number or a LID. The operation validates it, because an invalid one is `invalid-phone`. */
const person = () => z.string().max(100);
const people = () => z.array(person()).max(MAX_NOTICE_MEMBERS).nullish();
const CHANGES = z.object(GROUP_CHANGES).omit({ is_truncated: true }).shape;

/** A simulated message, call or change of a group: exactly one of `text`, `call` and `group_update`. */
export const SandboxInbound = z
  .strictObject({
    from: person(),
    /** The username of `from` in this sandbox from now on. */
    username: Username.nullish(),
    text: text(1, MAX_TEXT).nullish(),
    /** A call to the instance. `chat`: the group that is called. */
    call: z
      .strictObject({ video: z.boolean().nullish(), missed: z.boolean().nullish(), chat: group().nullish() })
      .nullish(),
    /** A change of a group by `from`. */
    group_update: z
      .strictObject({
        chat: group(),
        ...{ joined: people(), left: people(), promoted: people(), demoted: people() },
        ...CHANGES,
      })
      .nullish(),
    reply: z
      .strictObject({
        option_id: text(1, 200),
        label: text(1, 200).nullish(),
        source: z.enum(['native_flow', 'button', 'list', 'poll']),
        in_reply_to_wa_message_id: text(1, 200).nullish(),
      })
      .nullish(),
    quoted_wa_message_id: text(1, 200).nullish(),
  })
  .meta({ examples: [{ from: '5511987654321', text: 'Bom dia' }] });
export type SandboxInbound = z.infer<typeof SandboxInbound>;

export const SandboxInboundOut = z.object({
  /** Null for a call and a change of a group. */
  message_id: z.string().nullable(),
  wa_message_id: z.string().nullable(),
  event_id: z.string(),
  event_type: z.enum(EVENT_TYPES),
});
export type SandboxInboundOut = z.infer<typeof SandboxInboundOut>;
