import type { proto } from '@whiskeysockets/baileys';
import { unwrap } from './envelope.js';

/** The text of an edited message, which may be a caption. */
export function textIn(message: proto.IMessage): string | null {
  const { conversation, extendedTextMessage, imageMessage, videoMessage, documentMessage } = unwrap(message);
  const captioned = imageMessage ?? videoMessage ?? documentMessage;
  return conversation || extendedTextMessage?.text || captioned?.caption || null;
}
