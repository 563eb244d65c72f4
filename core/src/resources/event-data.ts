import { z } from 'zod';
import type { EventType } from '../events.js';
import { idOut, Username } from './common.js';
import { Details, ForwardedFrom, Pair } from './details.js';
import { GROUP_ROLES } from './group.js';
import { MAX_FILENAME, MediaOut } from './media.js';
import { MESSAGE_TYPES, MessageError, RECEIPT_FIELDS, SENT_FIELDS } from './message.js';

// Data of events, by type. Optional fields are absent if they do not apply.

const short = () => z.string().max(500).optional();
const url = () => z.string().max(2048).optional();
/** Encrypted or binary data of the network, in base64. */
const opaque = () =>
  z
    .base64()
    .max(8192)
    .meta({ examples: ['AQID'] })
    .optional();

/** The advertisement that brought the contact here. The names are those of Meta's own API where it has them. */
export const Referral = z.object({
  source_type: short(),
  source_id: short(),
  source_url: url(),
  source_app: short(),
  headline: z.string().max(1000).optional(),
  body: z.string().max(4096).optional(),
  media_type: z.enum(['image', 'video']).optional(),
  media_url: url(),
  thumbnail_url: url(),
  ctwa_clid: short(),
  ref: short(),
  conversion_source: short(),
  conversion_data: opaque(),
  ctwa_signals: short(),
  ctwa_payload: opaque(),
});
export type Referral = z.infer<typeof Referral>;

export const ReceivedLocation = z.object({
  latitude: z.number(),
  longitude: z.number(),
  name: z.string().max(1000).optional(),
  address: z.string().max(1000).optional(),
  is_live: z.boolean().optional(),
});

export const ReceivedContact = z.object({
  /** Null if the card has none. */
  name: z.string().max(1000).nullable(),
  phones: z.array(z.string().max(100)).max(500),
});

/** Network ids of the author of a quoted message, and of its chat if that is another one; facts of a quoted card. */
export const QUOTED_FIELDS = {
  author: z.string().max(100).optional(),
  chat: z.string().max(100).optional(),
  details: Details.optional(),
};

/** Further facts about the content of a received message. */
export const DETAILS = {
  /** The content, if the type is `other` or says too little. */
  kind: z.string().max(50).optional(),
  /** Opened once, then gone. */
  is_view_once: z.boolean().optional(),
  /** Disappears this long after it was read or sent. */
  expires_in_s: z.int().min(1).max(4_294_967_295).optional(),
  mentions_me: z.boolean().optional(),
  /** Network id of the album that the picture or film belongs to. */
  album_id: z.string().min(1).max(200).optional(),
  /** The picture or film that this is, in another quality. */
  pair: Pair.optional(),
  /** The facts of a card, by its kind. */
  details: Details.optional(),
  forwarded_from: ForwardedFrom.optional(),
  /** Some of the text, or of the lists, was cut off. */
  is_truncated: z.boolean().optional(),
  referral: Referral.optional(),
} as const;
export const DETAIL_FIELDS = Object.keys(DETAILS) as (keyof typeof DETAILS)[];

export const EventChat = z.object({
  id: z.string(),
  is_group: z.boolean(),
  phone: z.string().optional(),
  /** Null if it is unknown. Absent for a group. */
  username: Username.nullable().optional(),
});
export type EventChat = z.infer<typeof EventChat>;

/** A contact, a member of a group, or the instance's own account. */
export const EventPerson = z.object({
  id: z.string(),
  phone: z.string().optional(),
  username: Username.nullable(),
  name: z.string().nullable(),
});
export type EventPerson = z.infer<typeof EventPerson>;

/** Choice of a contact. */
export const MenuReply = z.object({
  option_id: z.string(),
  label: z.string(),
  source: z.enum(['native_flow', 'button', 'template_button', 'list', 'poll', 'text']),
  /** Null: the menu is unknown. */
  in_reply_to: idOut('message').nullable(),
  in_reply_to_wa_message_id: z.string().nullable(),
  vote_removed: z.literal(true).optional(),
});
export type MenuReply = z.infer<typeof MenuReply>;

/** Facts from the message about a file that could not be fetched. */
export const KNOWN_OF_FILE = {
  filename: z.string().max(MAX_FILENAME).optional(),
  mimetype: z.string().max(120).optional(),
  size: z.int().min(1).optional(),
};

/** A received file, or the reason why there is none. */
const ReceivedMedia = z
  .union([
    z
      .object({
        media_id: idOut('media'),
        ...MediaOut.pick({ mimetype: true, size: true, sha256: true }).shape,
        filename: z.string().optional(),
        duration_s: z.number().optional(),
        voice: z.boolean().optional(),
        /** In webhook deliveries. */
        url: z.url().optional(),
      })
      .meta({ id: 'ReceivedFile' }),
    z.object({ error: z.string(), ...KNOWN_OF_FILE }).meta({ id: 'MissingFile' }),
  ])
  .meta({ id: 'ReceivedMedia' });
export type ReceivedMedia = z.infer<typeof ReceivedMedia>;

const ABOUT_INSTANCE = { instance_id: idOut('instance'), timestamp: z.iso.datetime() };
const ABOUT_MESSAGE = {
  ...ABOUT_INSTANCE,
  /** Absent if gwk has no such message. */
  message_id: idOut('message').optional(),
  wa_message_id: z.string().nullable(),
  chat: EventChat,
};
/** `from` is absent for the instance's own account. */
const BY_AUTHOR = { ...ABOUT_MESSAGE, from_me: z.boolean(), from: EventPerson.optional() };

/** `message.received`, and `message.sent_from_device` */
export const ReceivedData = z.object({
  ...ABOUT_MESSAGE,
  from: EventPerson,
  from_me: z.boolean(),
  type: z.enum([...MESSAGE_TYPES, 'other']),
  text: z.string().nullish(),
  media: ReceivedMedia.optional(),
  location: ReceivedLocation.optional(),
  contacts: z.array(ReceivedContact).optional(),
  /** Phone numbers, or network ids where the number is unknown. */
  mentions: z.array(z.string()).optional(),
  is_forwarded: z.boolean().optional(),
  quoted_wa_message_id: z.string().optional(),
  quoted: z.object({ id: z.string(), ...QUOTED_FIELDS, author_username: Username.nullable() }).optional(),
  ...DETAILS,
});
export type ReceivedData = z.infer<typeof ReceivedData>;

export const InteractiveReplyData = ReceivedData.extend({ reply: MenuReply });
export const SentData = z.object({ ...ABOUT_MESSAGE, ...SENT_FIELDS });
export const FailedData = z.object({ ...ABOUT_MESSAGE, error: MessageError });
export const StatusUpdatedData = z.object({ ...ABOUT_MESSAGE, ...RECEIPT_FIELDS });
export const EditedData = z.object({ ...BY_AUTHOR, text: z.string(), details: Details.optional() });
export const DeletedData = z.object(BY_AUTHOR);
/** `emoji` is empty if the reaction was removed. */
export const ReactionData = z.object({ ...BY_AUTHOR, emoji: z.string() });

export const QrData = z.object({
  ...ABOUT_INSTANCE,
  /** Removed once it has expired, and for readers without `instances:write`. */
  code: z.string().optional(),
  expires_in_s: z.int().min(0),
});
export const PasskeyRequestedData = z.object({ ...ABOUT_INSTANCE, expires_in_s: z.int().min(0) });
export const PairingFailedData = z.object({ ...ABOUT_INSTANCE, reason: z.string(), detail: z.string() });
export const PairedData = z.object({
  ...ABOUT_INSTANCE,
  jid: z.string(),
  business_name: z.string().nullable(),
  platform: z.string().nullable(),
  /** The former account of the instance, if this is another one. */
  previous_jid: z.string().optional(),
});
export const ConnectedData = z.object({ ...ABOUT_INSTANCE, jid: z.string().nullable() });
/** `instance.disconnected` and `instance.logged_out` */
export const EndedData = z.object({ ...ABOUT_INSTANCE, reason: z.string().nullable() });
export const BannedData = z.object({
  ...ABOUT_INSTANCE,
  code: z.string().nullable(),
  expires_at: z.iso.datetime().nullable(),
});
export const WebhookTestData = z.object({ endpoint_id: idOut('endpoint'), timestamp: z.iso.datetime() });
/** `keyword` is the word as the contact wrote it. */
export const OptOutData = z.object({
  ...ABOUT_INSTANCE,
  message_id: idOut('message'),
  contact: EventPerson,
  keyword: z.string(),
});

const ContactIds = EventPerson.omit({ name: true }).meta({ id: 'ContactIds' });
export type ContactIds = z.infer<typeof ContactIds>;

/** The ids of a contact after a change and before it: `previous` is the record that `contact` replaces. */
export const ContactUpdatedData = z.object({ ...ABOUT_INSTANCE, contact: ContactIds, previous: ContactIds });

export const CallReceivedData = z.object({
  ...ABOUT_INSTANCE,
  call_id: z.string(),
  from: EventPerson,
  video: z.boolean(),
  group: z.boolean(),
  /** The group that is called, if the network names it. */
  chat: EventChat.optional(),
  /** The call came while the instance was offline. */
  missed: z.boolean(),
  /** Rejected by the policy `reject_calls`. */
  rejected: z.boolean(),
});

export type CallReceivedData = z.infer<typeof CallReceivedData>;

const GROUP_CHANGE_REASONS = ['add', 'invite', 'remove', 'leave', 'create', 'delete'] as const;

/** The changes of a group that are not lists of members. Absent fields have not changed. */
export const GROUP_CHANGES = {
  /** How members joined or left. */
  reason: z.enum(GROUP_CHANGE_REASONS).optional(),
  subject: z.string().max(1000).optional(),
  /** Null: removed. */
  description: z.string().max(5000).nullable().optional(),
  /** Whether only admins may send. */
  announcement: z.boolean().optional(),
  /** Messages disappear after this time; 0: never. */
  expires_in_s: z.int32().min(0).optional(),
  /** The new role of the instance's number; null: it is no member any more. */
  role: z.enum(GROUP_ROLES).nullable().optional(),
  /** Some of a text or of a list was cut off. */
  is_truncated: z.literal(true).optional(),
} as const;

export const GroupUpdatedData = z.object({
  ...ABOUT_INSTANCE,
  chat: EventChat,
  /** The author. Absent if the network does not say. */
  from: EventPerson.optional(),
  from_me: z.boolean(),
  joined: z.array(EventPerson).optional(),
  left: z.array(EventPerson).optional(),
  promoted: z.array(EventPerson).optional(),
  demoted: z.array(EventPerson).optional(),
  ...GROUP_CHANGES,
});
export type GroupUpdatedData = z.infer<typeof GroupUpdatedData>;

export const EVENT_DATA = {
  'message.received': ReceivedData,
  'message.sent_from_device': ReceivedData,
  'message.sent': SentData,
  'message.failed': FailedData,
  'message.status_updated': StatusUpdatedData,
  'message.interactive_reply': InteractiveReplyData,
  'message.edited': EditedData,
  'message.deleted': DeletedData,
  'message.reaction': ReactionData,
  'instance.qr': QrData,
  'instance.passkey_requested': PasskeyRequestedData,
  'instance.pairing_failed': PairingFailedData,
  'instance.paired': PairedData,
  'instance.connected': ConnectedData,
  'instance.disconnected': EndedData,
  'instance.logged_out': EndedData,
  'instance.banned': BannedData,
  'call.received': CallReceivedData,
  'group.updated': GroupUpdatedData,
  'webhook.test': WebhookTestData,
  'contact.opted_out': OptOutData,
  'contact.opted_in': OptOutData,
  'contact.updated': ContactUpdatedData,
} as const satisfies Record<EventType, z.ZodObject>;
export type EventData<T extends EventType> = z.infer<(typeof EVENT_DATA)[T]>;
