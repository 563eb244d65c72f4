import { z } from 'zod';
import { EVENT_TYPES } from '../events.js';
import { text } from './common.js';
import { MAX_TEXT } from './content.js';

/** A simulated inbound message of a sandbox. */
export const SandboxInbound = z.strictObject({
  /** The operation validates it, because an invalid one is `invalid-phone`. */
  from: z.string().max(100),
  text: text(1, MAX_TEXT),
  reply: z
    .strictObject({
      option_id: text(1, 200),
      label: text(1, 200).nullish(),
      source: z.enum(['native_flow', 'button', 'list', 'poll']),
      in_reply_to_wa_message_id: text(1, 200).nullish(),
    })
    .nullish(),
  quoted_wa_message_id: text(1, 200).nullish(),
});
export type SandboxInbound = z.infer<typeof SandboxInbound>;

export const SandboxInboundOut = z.object({
  message_id: z.string(),
  wa_message_id: z.string(),
  event_id: z.string(),
  event_type: z.enum(EVENT_TYPES),
});
export type SandboxInboundOut = z.infer<typeof SandboxInboundOut>;
