import { proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { Pair } from '@gwk/core/resources/details';
import { PAIRS } from '@gwk/core/resources/details-values';
import { encodeEditedCard } from '../../quoted-card.js';
import { parseClick } from './clicks.js';
import { findContext, parseContext, type ConversationIds } from './context.js';
import { parseDetails } from './details.js';
import { isInvisible, parseKind } from './kinds.js';
import { limitText } from './text.js';
import { unwrapMessage, type Content } from './unwrap.js';
import { MAX_CONTACTS, readCards } from './vcards.js';

/** The part of an inbound message that comes from its content. */
type ParsedContent = Omit<
  InboundMessage,
  'wa_message_id' | 'chat' | 'from' | 'alt' | 'from_name' | 'from_me' | 'at' | 'media' | 'vote'
>;

type Edit = NonNullable<InboundMessage['change']>;

const { MESSAGE_EDIT, REVOKE } = proto.Message.ProtocolMessage.Type;
const MAX_TEXT = 65_536;

/** Null when a person would see nothing: keys, settings, messages between apps. */
export function parseContent(content: Content, place: ConversationIds): ParsedContent | null {
  const { message, context, isViewOnce, kind } = content;
  const edit = parseEdit(message);
  if (edit === 'unread') return null;
  if (edit) return { type: 'other', text: null, quoted_wa_message_id: null, change: edit };
  const parsed = parseFields(message);
  if (!parsed && kind === undefined && isInvisible(message)) return null;
  const { inner, ...said } = parsed ?? { type: 'other' as const, text: null };
  const click = parseClick(message);
  return {
    ...limitParsed(said, message),
    ...(kind !== undefined && { kind }),
    ...parseContext(findContext(message) ?? findContext(inner ?? {}), place),
    ...(isViewOnce && { is_view_once: true }),
    ...parseAssociation(context),
    ...(click && { click }),
  };
}

const { MEDIA_ALBUM } = proto.MessageAssociation.AssociationType;

/** The album to which a picture or film belongs, or the same one in another quality. */
function parseAssociation({
  messageAssociation: association,
}: proto.IMessageContextInfo): Pick<ParsedContent, 'album_id' | 'pair'> {
  const type = association?.associationType;
  const id = association?.parentMessageKey?.id?.slice(0, 200);
  if (!id || !type) return {};
  if (type === MEDIA_ALBUM) return { album_id: id };
  const kind = PAIRS[type as keyof typeof PAIRS] as Pair['kind'] | undefined;
  return kind ? { pair: { wa_message_id: id, kind } } : {};
}

type Parsed = Pick<ParsedContent, 'type' | 'text' | 'location' | 'contacts' | 'kind'> & {
  /** A message inside, which may have the quote. */
  inner?: proto.IMessage;
};

function parseFields(message: proto.IMessage): Parsed | null {
  const field = FIELDS.find((one) => message[one]);
  if (field) return (PARSERS[field] as (content: unknown) => Parsed)(message[field]);
  const other = parseKind(message);
  if (!other) return null;
  const inner = other.inner ? unwrapMessage(other.inner).message : undefined;
  const text = other.text || (inner && findText(inner)) || null;
  return { type: 'other', text, kind: other.kind, ...(inner && { inner }) };
}

const MAX_PHONES = 500;
const MAX_NAME = 1_000;

/** Cuts what is too long, and says so. */
function limitParsed(
  { text, location, contacts, ...rest }: Omit<Parsed, 'inner'>,
  message: proto.IMessage,
): ParsedContent {
  const { details, isCut: isShort } = parseDetails(message);
  let isCut = isShort;
  const cut = (value: string, max: number): string => {
    isCut ||= value.length > max;
    return limitText(value, max);
  };
  const take = <T>(values: readonly T[], max: number): T[] => {
    isCut ||= values.length > max;
    return values.slice(0, max);
  };
  const limited = {
    text: text === null ? null : cut(text, MAX_TEXT),
    ...(location && { location: limitPlace(location, cut) }),
    ...(contacts && {
      contacts: take(contacts, MAX_CONTACTS).map(({ name, phones }) => ({
        name: name?.trim() ? cut(name, MAX_NAME) : null,
        phones: take(phones, MAX_PHONES),
      })),
    }),
    ...(details && { details }),
  };
  return { ...rest, ...limited, quoted_wa_message_id: null, ...(isCut && { is_truncated: true }) };
}

type Location = NonNullable<Parsed['location']>;

function limitPlace(place: Location, cut: (value: string, max: number) => string): Location {
  const { name, address } = place;
  return {
    ...place,
    ...(name && { name: cut(name, MAX_NAME) }),
    ...(address && { address: cut(address, MAX_NAME) }),
  };
}

const asText =
  (type: Parsed['type']) =>
  (text?: string | null): Parsed => ({ type, text: text || null });
const [text, image, video, document] = [asText('text'), asText('image'), asText('video'), asText('document')];
const [interactive, poll] = [asText('interactive'), asText('poll')];

/** By field of the message. If a message has several of them, the first counts. */
const PARSERS: { [Field in keyof proto.IMessage]: (content: NonNullable<proto.IMessage[Field]>) => Parsed } =
  {
    conversation: (content) => text(content),
    extendedTextMessage: (content) => text(content.text),
    imageMessage: ({ caption }) => image(caption),
    videoMessage: ({ caption }) => video(caption),
    ptvMessage: ({ caption }) => video(caption),
    audioMessage: () => ({ type: 'audio', text: null }),
    documentMessage: ({ caption }) => document(caption),
    stickerMessage: () => ({ type: 'sticker', text: null }),
    locationMessage: parseLocation,
    liveLocationMessage: parseLiveLocation,
    contactMessage: (card) => parseContacts([card]),
    contactsArrayMessage: ({ contacts }) => parseContacts(contacts ?? []),
    pollCreationMessage: ({ name }) => poll(name),
    pollCreationMessageV2: ({ name }) => poll(name),
    pollCreationMessageV3: ({ name }) => poll(name),
    pollCreationMessageV5: ({ name }) => poll(name),
    interactiveResponseMessage: ({ body }) => interactive(body?.text),
    buttonsResponseMessage: ({ selectedDisplayText }) => interactive(selectedDisplayText),
    templateButtonReplyMessage: ({ selectedDisplayText }) => interactive(selectedDisplayText),
    listResponseMessage: ({ title }) => interactive(title),
    interactiveMessage: ({ body }) => interactive(body?.text),
    templateMessage: (template) => interactive(findTemplateText(template)),
    buttonsMessage: ({ contentText }) => interactive(contentText),
    listMessage: ({ description }) => interactive(description),
  };
const FIELDS = Object.keys(PARSERS) as (keyof proto.IMessage)[];

function parseLocation(place: proto.Message.ILocationMessage): Parsed {
  const { degreesLatitude, degreesLongitude, name, address } = place;
  return {
    type: 'location',
    text: null,
    location: {
      latitude: toDegrees(degreesLatitude),
      longitude: toDegrees(degreesLongitude),
      ...(name && { name }),
      ...(address && { address }),
    },
  };
}

/** JSON has no NaN. */
const toDegrees = (value: number | null | undefined): number => (Number.isFinite(value) ? value! : 0);

function parseLiveLocation({ caption, ...place }: proto.Message.ILiveLocationMessage): Parsed {
  const { location } = parseLocation(place);
  return { type: 'location', text: caption || null, location: { ...location!, is_live: true } };
}

function findTemplateText(template: proto.Message.ITemplateMessage): string | null | undefined {
  const { hydratedTemplate, hydratedFourRowTemplate, interactiveMessageTemplate } = template;
  const hydrated = hydratedTemplate ?? hydratedFourRowTemplate;
  return hydrated?.hydratedContentText ?? interactiveMessageTemplate?.body?.text;
}

/** A card may contain several contacts, or none that can be read. */
function parseContacts(cards: proto.Message.IContactMessage[]): Parsed {
  const contacts = readCards(cards).map(({ name, phones }) => ({ name, phones }));
  return { type: 'contact', text: null, contacts };
}

/**
 * Parses a change of an earlier message: new words, a deletion or a reaction. An edit without words that are known here is
 * `unread`: it must not replace the stored words by nothing.
 */
function parseEdit({ protocolMessage, reactionMessage }: proto.IMessage): Edit | 'unread' | null {
  if (reactionMessage) return parseReaction(reactionMessage);
  const id = protocolMessage?.key?.id;
  if (!id) return null;
  const wa_message_id = id.slice(0, 200);
  if (protocolMessage.type === REVOKE) return { kind: 'delete', wa_message_id };
  if (protocolMessage.type !== MESSAGE_EDIT || !protocolMessage.editedMessage) return null;
  const edited = unwrapMessage(protocolMessage.editedMessage).message;
  const text = findText(edited);
  if (text === null) return 'unread';
  const card = encodeEditedCard(edited);
  const { details } = parseDetails(edited);
  return {
    ...{ kind: 'edit', wa_message_id, text: limitText(text, MAX_TEXT) },
    ...(details && { details }),
    ...(card && { card: card.toString('base64') }),
  };
}

function parseReaction({ key, text }: proto.Message.IReactionMessage): Edit | null {
  return key?.id
    ? { kind: 'reaction', wa_message_id: key.id.slice(0, 200), emoji: limitText(text ?? '', 100) }
    : null;
}

/** The words of a message of any type, which may be a caption, a question or a title. */
const findText = (message: proto.IMessage): string | null =>
  parseFields(unwrapMessage(message).message)?.text ?? null;
