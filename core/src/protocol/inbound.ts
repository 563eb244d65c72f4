import { MAX_CARD_BYTES } from './sizes.js';
import { z } from 'zod';
import { pairNames } from '../ids/recipients.js';
import {
  DETAILS,
  KNOWN_OF_FILE,
  QUOTED_FIELDS,
  ReceivedContact,
  ReceivedLocation,
  Referral,
} from '../resources/event-data.js';
import { Details } from '../resources/details.js';
import { Username } from '../resources/common.js';
import { MESSAGE_TYPES } from '../resources/message.js';

// An inbound message, as an engine reports it to the API (engine.ts).

export const uuid = () => z.uuid();
/** Limited to what Postgres accepts (years from 1), so that no item fails at every retry. */
export const time = () => z.iso.datetime().refine((text) => !text.startsWith('0000'), 'there is no year 0');

export const messageCard = () => z.base64().max(Math.ceil(MAX_CARD_BYTES / 3) * 4);

/** A click names its option and the clicked message. */
const Click = z.object({
  option_id: z.string().min(1).max(500),
  /** Null if the network sends only the id. */
  label: z.string().max(500).nullable(),
  source: z.enum(['native_flow', 'button', 'template_button', 'list']),
  in_reply_to_wa_message_id: z.string().max(200).nullable(),
});

/** The whole current vote of one voter. Empty: the vote is withdrawn. */
const PollVote = z.object({
  poll_wa_message_id: z.string().min(1).max(200),
  /** SHA-256 of the label of each selected option, in hex, as the network sends it. */
  chosen: z.array(z.string().regex(/^[0-9a-f]{64}$/)).max(12),
});

/** The author of a changed message, as the change names it. */
const TargetAuthor = z.object({
  from_me: z.boolean(),
  /** In a group. */
  participant: z.string().max(100).nullable(),
});

/**
 * A change of an earlier message of the conversation. Senders choose the ids of their messages, so an id is unique only
 * together with its author.
 */
const Change = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('edit'),
    wa_message_id: z.string().min(1).max(200),
    author: TargetAuthor.optional(),
    text: z.string().max(70_000),
    details: Details.optional(),
    /** For quotes of the edited message, if the edit contains more than a text. */
    card: messageCard().optional(),
  }),
  z.object({
    kind: z.literal('delete'),
    wa_message_id: z.string().min(1).max(200),
    author: TargetAuthor.optional(),
    /** By an admin of the group, who may delete messages of others. */
    by_admin: z.boolean().optional(),
  }),
  /** An empty emoji removes the reaction. */
  z.object({
    kind: z.literal('reaction'),
    wa_message_id: z.string().min(1).max(200),
    author: TargetAuthor.optional(),
    emoji: z.string().max(100),
  }),
]);

/** The file of an inbound message, already uploaded by `media-upload`, or why there is none. */
const InboundMedia = z.union([
  z.object({
    media_id: uuid(),
    duration_s: z.number().min(0).max(1_000_000).optional(),
    voice: z.boolean().optional(),
  }),
  z.object({ error: z.string().min(1).max(200), ...KNOWN_OF_FILE }),
]);

/** The setting of disappearing messages of a chat with a contact. */
export const Timer = z.object({
  /** Time after which messages disappear; 0: never. */
  seconds: z.int32().min(0),
  /** The newest setting counts. */
  set_at: time(),
});
export type Timer = z.infer<typeof Timer>;

/** Events contain these fields as they are. */
const INBOUND_DETAILS = { ...DETAILS, referral: Referral.optional() };

const Message = z.object({
  wa_message_id: z.string().min(1).max(200),
  /** Network id of the conversation. */
  chat: z.string().max(100),
  /** Network id of the sender: the contact, or the member of the group. */
  from: z.string().max(100),
  /**
   * The other id of the contact (in a direct chat) or of the sender (in a group), if the network sends both the phone
   * number and the LID. From then on, both ids are one contact. Two ids of the same kind are refused.
   */
  alt: z.string().max(100).nullish(),
  /** The broadcast list by which the contact sent the message. */
  list: z
    .string()
    .regex(/^[0-9]{1,30}@broadcast$/)
    .optional(),
  from_name: z.string().max(300).nullable(),
  /** The username of the contact (in a direct chat) or of the sender (in a group), if the network states it. */
  username: Username.optional(),
  from_me: z.boolean(),
  at: time(),
  type: z.enum([...MESSAGE_TYPES, 'other']),
  text: z.string().max(70_000).nullable(),
  quoted_wa_message_id: z.string().max(200).nullable(),
  quoted: z.object(QUOTED_FIELDS).optional(),
  ...INBOUND_DETAILS,
  is_forwarded: z.boolean().optional(),
  /** Network ids. */
  mentions: z.array(z.string().max(100)).max(1024).optional(),
  location: ReceivedLocation.optional(),
  contacts: z.array(ReceivedContact).max(300).optional(),
  media: InboundMedia.optional(),
  /** For quotes of it. Absent for a message that is quoted as its text. */
  card: messageCard().optional(),
  timer: Timer.optional(),
  /** The message only sets the timer, and no person sees it. */
  is_timer_only: z.boolean().optional(),
  /** At most one of these three. A change does not create a message. */
  click: Click.optional(),
  vote: PollVote.optional(),
  change: Change.optional(),
});

/** A compromised engine must not link two phone numbers or two LIDs. */
export const InboundMessage = Message.refine(
  ({ chat, from, alt }) => !alt || pairNames(chat.endsWith('@g.us') ? from : chat, alt) !== null,
  { path: ['alt'], message: 'links a LID with a phone number only' },
);
export type InboundMessage = z.infer<typeof InboundMessage>;
