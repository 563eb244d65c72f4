import { proto } from '@whiskeysockets/baileys';
import { unwrap } from './contents.js';

const MEDIA = [
  'imageMessage',
  'videoMessage',
  'ptvMessage',
  'audioMessage',
  'documentMessage',
  'stickerMessage',
  'locationMessage',
  'liveLocationMessage',
  'contactMessage',
  'contactsArrayMessage',
] as const;

const { REVOKE, MESSAGE_EDIT } = proto.Message.ProtocolMessage.Type;

/** The plaintext attributes of a message stanza. */
export function stanzaType(message: proto.IMessage): Record<string, string> {
  const { protocolMessage } = message;
  if (message.reactionMessage) return { type: 'reaction' };
  if (message.pollUpdateMessage || message.pollCreationMessageV3) return { type: 'poll' };
  if (protocolMessage?.type === MESSAGE_EDIT) return { type: 'text', edit: '1' };
  if (protocolMessage?.key && protocolMessage.type === REVOKE) return { type: 'text', edit: '7' };
  return { type: MEDIA.some((kind) => unwrap(message)?.[kind]) ? 'media' : 'text' };
}
