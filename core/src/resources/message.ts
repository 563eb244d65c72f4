import { z } from 'zod';
import type { FinishedMedia, LinkPreview } from './finished-media.js';
import { FAILURE_CODES, MESSAGE_STATUSES, RENDERINGS } from '../states.js';
import { SEND_EXAMPLES } from './send-examples.js';
import { countGraphemes, dateTime, idOut, idText, PageQuery, Username, visibleText } from './common.js';
import {
  AlbumContent,
  AudioContent,
  CaptionedContent,
  ContactContent,
  ImageContent,
  InteractiveContent,
  LocationContent,
  MAX_TEXT,
  PollContent,
  StickerContent,
  TextContent,
  VideoContent,
} from './content.js';

export const MAX_MENTIONS = 1024;

/** Schema of the content of each type of outbound message, which is in the field of the same name. */
export const CONTENTS = {
  text: TextContent,
  image: ImageContent,
  video: VideoContent,
  document: CaptionedContent,
  audio: AudioContent,
  sticker: StickerContent,
  location: LocationContent,
  contact: ContactContent,
  interactive: InteractiveContent,
  poll: PollContent,
  album: AlbumContent,
} as const;
type Contents = typeof CONTENTS;
export type MessageType = keyof Contents;
export const MESSAGE_TYPES = Object.keys(CONTENTS) as [MessageType, ...MessageType[]];
const contentFields = Object.fromEntries(
  MESSAGE_TYPES.map((type) => [type, CONTENTS[type].optional()]),
) as unknown as { [T in MessageType]: z.ZodOptional<Contents[T]> };

/** Content fields are optional here, because a missing one is `invalid-message`, not `validation-error`. */
export const SendMessage = z
  .strictObject({
    instance_id: idText(),
    to: z.string(),
    type: z.enum(MESSAGE_TYPES),
    ...contentFields,
    reply_to: idText().nullish(),
    mentions: z.array(z.string()).max(MAX_MENTIONS).nullish(),
  })
  .meta({ examples: SEND_EXAMPLES });
export type SendMessage = z.infer<typeof SendMessage>;

/** Content for the engine, stored encrypted in message_contents until the message is sent. */
export type OutboundContent = {
  type: MessageType;
  /** UUID of the quoted message. */
  reply_to?: string | null;
  mentions?: string[] | null;
  /** Network id of the message that this one belongs to: the album of a file, or the standard version of a picture. */
  part_of?: { wa_message_id: string; kind: 'album' | 'hd' };
  album?: { images: number; videos: number };
  /** Added by the worker during preparation. */
  finished?: FinishedMedia;
  preview?: LinkPreview;
} & { [T in Exclude<MessageType, 'album'>]?: z.infer<Contents[T]> };

/** @returns the text of a message of any type; null without text */
export function extractText({
  text,
  image,
  video,
  document,
  interactive,
  poll,
}: OutboundContent): string | null {
  const captioned = image ?? video ?? document;
  const said = captioned ? captioned.caption : (text?.body ?? interactive?.body ?? poll?.name);
  return said ? said : null;
}

export const MessageError = z.object({ code: z.enum(FAILURE_CODES), message: z.string().nullable() });

/** Fields of a message that its engine reports: with the built message and its acknowledgement, and with a receipt. */
export const SENT_FIELDS = { rendered_as: z.enum(RENDERINGS).nullable() };
export const RECEIPT_FIELDS = {
  status: z.enum(['delivered', 'read']),
  played: z.boolean().optional(),
  /** Network id of the member whose device confirms, in a group. */
  participant: z.string().min(1).max(100).optional(),
  participant_username: Username.nullable().optional(),
};
export type SentFields = z.infer<z.ZodObject<typeof SENT_FIELDS>>;
export type ReceiptFields = z.infer<z.ZodObject<typeof RECEIPT_FIELDS>>;

export const MessageOut = z.object({
  id: idOut('message'),
  instance_id: idOut('instance'),
  direction: z.enum(['outbound', 'inbound']),
  to: z.string(),
  /** The LID of the contact in `to`, if the instance knows it; not in the answer of a send. */
  lid: z.string().optional(),
  /** Not in the answer of a send. */
  conversation_id: idOut('conversation').optional(),
  type: z.enum([...MESSAGE_TYPES, 'other']),
  status: z.enum(MESSAGE_STATUSES),
  wa_message_id: z.string().nullable(),
  ...SENT_FIELDS,
  error: MessageError.nullable(),
  created_at: z.iso.datetime(),
  sent_at: z.iso.datetime().nullable(),
  delivered_at: z.iso.datetime().nullable(),
  read_at: z.iso.datetime().nullable(),
  failed_at: z.iso.datetime().nullable(),
  scheduled_for: z.iso.datetime().nullish(),
  updated_at: z.iso.datetime(),
});
export type MessageOut = z.infer<typeof MessageOut>;

/** `items`: the files of an album, or the HD version of a picture. Each is a message of its own, which leaves after this one. */
export const AcceptedMessageOut = MessageOut.extend({ items: z.array(MessageOut).optional() });
export type AcceptedMessageOut = z.infer<typeof AcceptedMessageOut>;

export const MessageEdit = z.strictObject({ text: visibleText(MAX_TEXT) });

const EMOJI = /\p{Extended_Pictographic}|\p{Regional_Indicator}|[0-9#*]\uFE0F?\u20E3/u;
const MAX_EMOJI_UNITS = 64;

/** Whether the text is one emoji, of any number of code points. */
function isEmoji(value: string): boolean {
  if (value.length > MAX_EMOJI_UNITS || !EMOJI.test(value)) return false;
  return countGraphemes(value, 1) === 1;
}

/** An empty emoji removes the reaction. */
export const Reaction = z.strictObject({
  emoji: z
    .string()
    .refine((value) => value === '' || isEmoji(value), { message: 'must be one emoji or empty' }),
});

export const MessageListQuery = PageQuery.extend({
  instance_id: idText().optional(),
  status: z.enum(MESSAGE_STATUSES).optional(),
  type: z.enum([...MESSAGE_TYPES, 'other']).optional(),
  to: z.string().max(100).optional(),
  conversation: idText().optional(),
  since: dateTime().optional(),
});
