import { createHmac, hkdfSync } from 'node:crypto';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import type { MessageType, OutboundContent } from '@gwk/core/resources/message';
import { SendFailure, type Built } from '../../driver.js';
import { packBuilt } from './built-message.js';
import { contextOf, withContext } from './content/context.js';
import type { Draw, UploadedFile } from './content/renderer.js';
import { drawAudio, drawDocument, drawImage, drawSticker, drawVideo } from './content/file.js';
import { drawInteractive } from './content/interactive.js';
import { drawContact, drawLocation, drawText } from './content/plain.js';
import { drawPoll } from './content/poll.js';

const DRAWERS: Record<MessageType, Draw> = {
  text: drawText,
  image: drawImage,
  video: drawVideo,
  document: drawDocument,
  audio: drawAudio,
  sticker: drawSticker,
  location: drawLocation,
  contact: drawContact,
  interactive: drawInteractive,
  poll: drawPoll,
};

export interface Builder {
  /** Of the number, without its device. */
  own: string;
  /** The private key of the device. */
  key: Uint8Array;
  upload: (message: ClaimedMessage, content: OutboundContent) => Promise<UploadedFile>;
}

/** @throws SendFailure */
export async function buildMessage(message: ClaimedMessage, builder: Builder): Promise<Built> {
  const content = JSON.parse(message.content) as OutboundContent;
  const draw = Object.hasOwn(DRAWERS, content.type) ? DRAWERS[content.type] : undefined;
  // Content of a newer release.
  if (!draw) throw SendFailure.refused('internal', 'a message of this type cannot be built');
  const file = content.finished ? await builder.upload(message, content) : null;
  const secret = secretOf(message.wa_message_id, builder.key);
  const {
    message: drawn,
    nodes,
    rendered_as = null,
    menu = null,
  } = draw({
    content,
    mode: message.interactive_mode,
    file,
    secret,
  });
  const { chat } = message;
  const context = contextOf(message.quoted, content.mentions, { chat, own: builder.own });
  const built = { chat, message: withContext(drawn, context), ...(nodes && { nodes }) };
  return { bytes: packBuilt(built), rendered_as, menu };
}

/**
 * The secret of a message by which answers to it are read (votes in a poll). It is made of the device's key and the
 * message's id, so that nothing has to be kept for as long as somebody may vote.
 */
export function secretOf(waMessageId: string, key: Uint8Array): Uint8Array {
  const base = Buffer.from(hkdfSync('sha256', key, '', 'gwk message secrets', 32));
  return createHmac('sha256', base).update(waMessageId).digest();
}
