import { createHmac, hkdfSync } from 'node:crypto';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import type { MessageType, OutboundContent } from '@gwk/core/resources/message';
import { SendFailure, type EncodedMessage } from '../../driver.js';
import { encodeBuiltMessage } from './built-message.js';
import { buildContext, addContext } from './content/context.js';
import type { Renderer } from './content/renderer.js';
import { renderAudio, renderDocument, renderImage, renderSticker, renderVideo } from './content/file.js';
import { renderInteractive } from './content/interactive.js';
import { renderContact, renderLocation, renderPoll, renderText } from './content/plain.js';
import type { UploadedFile } from './upload.js';

const RENDERERS: Record<MessageType, Renderer> = {
  text: renderText,
  image: renderImage,
  video: renderVideo,
  document: renderDocument,
  audio: renderAudio,
  sticker: renderSticker,
  location: renderLocation,
  contact: renderContact,
  interactive: renderInteractive,
  poll: renderPoll,
};

interface BuildContext {
  /** JID of the instance, without its device. */
  own: string;
  /** Private identity key of the device. */
  key: Uint8Array;
  upload: (message: ClaimedMessage, content: OutboundContent) => Promise<UploadedFile>;
}

/** @throws SendFailure */
export async function buildMessage(message: ClaimedMessage, context: BuildContext): Promise<EncodedMessage> {
  const content = JSON.parse(message.content) as OutboundContent;
  const render = Object.hasOwn(RENDERERS, content.type) ? RENDERERS[content.type] : undefined;
  // Content of a newer release.
  if (!render) throw SendFailure.refused('internal', 'a message of this type cannot be built');
  const file = content.finished ? await context.upload(message, content) : null;
  const secret = deriveMessageSecret(message.wa_message_id, context.key);
  const {
    message: rendered,
    nodes,
    rendered_as = null,
    menu = null,
  } = render({
    content,
    mode: message.interactive_mode,
    file,
    secret,
  });
  const { chat } = message;
  const contextInfo = buildContext(message.quoted, content.mentions, { chat, own: context.own });
  const built = { chat, message: addContext(rendered, contextInfo), ...(nodes && { nodes }) };
  return { bytes: encodeBuiltMessage(built), rendered_as, menu };
}

/**
 * Derives the secret with which replies to a message (votes in a poll) are decrypted. It depends only on the
 * device's key and the message's id, so nothing has to be stored for as long as somebody may vote.
 */
export function deriveMessageSecret(waMessageId: string, key: Uint8Array): Uint8Array {
  const base = Buffer.from(hkdfSync('sha256', key, '', 'gwk message secrets', 32));
  return createHmac('sha256', base).update(waMessageId).digest();
}
