import type { proto } from '@whiskeysockets/baileys';
import type { OutboundEdit } from '@gwk/core/protocol/commands';
import type { BuiltMessage } from './built-message.js';

const EDIT = 14;
const REVOKE = 0;

/** Builds an edit, a deletion or a reaction: a message of its own whose stanza marks it as such. */
export function buildEdit(
  edit: OutboundEdit,
  contextInfo: proto.IContextInfo | null = null,
  now = Date.now(),
): BuiltMessage {
  const { message } = edit;
  const key: proto.IMessageKey = {
    remoteJid: message.chat,
    id: message.wa_message_id,
    fromMe: message.from_me,
    ...(message.participant !== null && { participant: message.participant }),
  };
  switch (edit.kind) {
    case 'edit':
      return {
        message: {
          protocolMessage: {
            key,
            type: EDIT,
            editedMessage: contextInfo
              ? { extendedTextMessage: { text: edit.text, contextInfo } }
              : { conversation: edit.text },
            timestampMs: now,
          },
        },
        attributes: { edit: '1' },
      };
    case 'delete': {
      const asAdmin = message.chat.endsWith('@g.us') && !message.from_me;
      return {
        message: { protocolMessage: { key, type: REVOKE } },
        attributes: { edit: asAdmin ? '8' : '7' },
      };
    }
    case 'react':
      return {
        message: { reactionMessage: { key, text: edit.emoji, senderTimestampMs: now } },
      };
  }
}
