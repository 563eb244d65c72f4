import type { proto } from '@whiskeysockets/baileys';
import type { ClaimedMessage, QuotedMessage } from '@gwk/core/protocol/engine';

/** Builds the part of a message that names the quoted message and the mentioned ids. Null when it has neither. */
export function buildContext(
  quoted: QuotedMessage | null,
  mentions: readonly string[] | null | undefined,
  { chat, own }: { chat: ClaimedMessage['chat']; own: string },
): proto.IContextInfo | null {
  const mentionedJid = mentions?.map(toMentionJid);
  if (!quoted && !mentionedJid?.length) return null;
  return {
    ...(quoted && {
      stanzaId: quoted.wa_message_id,
      participant: quoted.from_me ? own : (quoted.participant ?? quoted.chat),
      quotedMessage: { conversation: quoted.text },
      ...(quoted.chat !== chat && { remoteJid: quoted.chat }),
    }),
    ...(mentionedJid?.length && { mentionedJid }),
  };
}

const toMentionJid = (name: string): string =>
  name.includes('@') ? name : `${name.replace(/^\+/, '')}@s.whatsapp.net`;

/** Adds the context to the field of the message's type. */
export function addContext(message: proto.IMessage, contextInfo: proto.IContextInfo | null): proto.IMessage {
  if (!contextInfo) return message;
  return Object.fromEntries(
    Object.entries(message).map(([field, content]) => [
      field,
      field === 'messageContextInfo' ? (content as unknown) : { ...(content as object), contextInfo },
    ]),
  );
}
