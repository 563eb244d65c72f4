import { proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { unwrapMessage } from './envelope.js';

type Edit = NonNullable<InboundMessage['change']>;

const { MESSAGE_EDIT, REVOKE } = proto.Message.ProtocolMessage.Type;
const MAX_TEXT = 65_536;

/** Parses a change of an earlier message: a new text, a deletion or a reaction. */
export function parseEdit({ protocolMessage, reactionMessage }: proto.IMessage): Edit | null {
  if (reactionMessage) return parseReaction(reactionMessage);
  const id = protocolMessage?.key?.id;
  if (!id) return null;
  const wa_message_id = id.slice(0, 200);
  if (protocolMessage.type === REVOKE) return { kind: 'delete', wa_message_id };
  if (protocolMessage.type !== MESSAGE_EDIT || !protocolMessage.editedMessage) return null;
  const text = findText(protocolMessage.editedMessage) ?? '';
  return { kind: 'edit', wa_message_id, text: text.slice(0, MAX_TEXT) };
}

function parseReaction({ key, text }: proto.Message.IReactionMessage): Edit | null {
  return key?.id
    ? { kind: 'reaction', wa_message_id: key.id.slice(0, 200), emoji: (text ?? '').slice(0, 100) }
    : null;
}

/** The text of an edited message, which may be a caption. */
function findText(message: proto.IMessage): string | null {
  const { conversation, extendedTextMessage, imageMessage, videoMessage, documentMessage } =
    unwrapMessage(message);
  const captioned = imageMessage ?? videoMessage ?? documentMessage;
  return conversation || extendedTextMessage?.text || captioned?.caption || null;
}
