import type { proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { isListJid } from '../queue/ordered-intake.js';
import type { OwnIds } from './envelope.js';
import { normaliseJid } from '../../stanza-attrs.js';
import { parseDetails } from './details.js';
import { parseReferral } from './referral.js';
import { limitText } from './text.js';
import { unwrapMessage } from './unwrap.js';

type Facts = Pick<
  InboundMessage,
  | 'quoted_wa_message_id'
  | 'quoted'
  | 'is_forwarded'
  | 'mentions'
  | 'mentions_me'
  | 'expires_in_s'
  | 'forwarded_from'
  | 'referral'
>;

/** The conversation of the message, under both ids of the contact. */
export interface ConversationIds {
  chat: string;
  alt: string | null;
  own: OwnIds;
}

const MAX_MENTIONS = 1_024;
const MAX_JID = 100;
const MAX_NAME = 1_000;

/** Parses the facts that apps attach to any content: quote, mentions, timer, advertisement. */
export function parseContext(context: proto.IContextInfo | undefined, place: ConversationIds): Facts {
  if (!context) return { quoted_wa_message_id: null };
  const { isForwarded, expiration, forwardedNewsletterMessageInfo: channel } = context;
  const referral = parseReferral(context);
  return {
    ...parseQuote(context, place),
    ...(isForwarded && { is_forwarded: true }),
    ...(channel && { forwarded_from: nameChannel(channel) }),
    ...parseMentions(context, place),
    ...(expiration && { expires_in_s: expiration }),
    ...(referral && { referral }),
  };
}

/** The first of the content's parts that has a context. */
export function findContext(message: proto.IMessage): proto.IContextInfo | undefined {
  const holder = Object.values(message).find(
    (content: { contextInfo?: proto.IContextInfo } | null) => content?.contextInfo,
  ) as { contextInfo: proto.IContextInfo } | undefined;
  return holder?.contextInfo;
}

const nameChannel = ({
  newsletterJid: id,
  newsletterName: name,
  serverMessageId: post,
}: proto.ContextInfo.IForwardedNewsletterMessageInfo): Facts['forwarded_from'] => ({
  ...(id && { id: id.slice(0, MAX_JID) }),
  ...(name && { name: limitText(name, MAX_NAME) }),
  ...(post && post > 0 && { post_id: post }),
});

/** A mention of everybody names nobody. */
function parseMentions(
  { mentionedJid, nonJidMentions }: proto.IContextInfo,
  { own }: ConversationIds,
): Pick<Facts, 'mentions' | 'mentions_me'> {
  const mentions = (mentionedJid ?? []).slice(0, MAX_MENTIONS).map((jid) => jid.slice(0, MAX_JID));
  const isMentioned = mentions.some((jid) => [own.jid, own.lid].includes(normaliseJid(jid)));
  return {
    ...(mentions.length > 0 && { mentions }),
    ...((isMentioned || nonJidMentions) && { mentions_me: true }),
  };
}

function parseQuote(
  { stanzaId, participant, remoteJid, quotedMessage }: proto.IContextInfo,
  place: ConversationIds,
): Pick<Facts, 'quoted_wa_message_id' | 'quoted'> {
  if (!stanzaId) return { quoted_wa_message_id: null };
  const author = limitJid(participant);
  const chat = limitJid(remoteJid);
  const { details } = parseDetails(unwrapMessage(quotedMessage ?? {}).message);
  // Absent when the app names neither.
  const quoted = {
    ...(author !== '' && { author }),
    ...(!isHere(chat, place) && { chat }),
    ...(details && { details }),
  };
  return { quoted_wa_message_id: stanzaId.slice(0, 200), ...(Object.keys(quoted).length > 0 && { quoted }) };
}

/** In a direct chat, each side names it by the id of the other. Messages of a broadcast list are direct ones. */
const isHere = (jid: string, { chat, alt, own }: ConversationIds): boolean =>
  jid === '' || [chat, alt, own.jid, own.lid].includes(jid) || isListJid(jid);

const limitJid = (jid: string | null | undefined): string => normaliseJid(jid).slice(0, MAX_JID);
