import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';
import { isJidGroup, type MediaType, type proto } from '@whiskeysockets/baileys';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import type { MessageType, OutboundContent } from '@gwk/core/resources/message';
import { SendFailure, type EncodedMessage } from '../../driver.js';
import { encodeCard } from '../quoted-card.js';
import { encodeBuiltMessage } from './built-message.js';
import { addContext, prepareContext, type ContextFacts } from './content/context.js';
import { describePair, joinWhole } from './content/parts.js';
import { rewriteContent } from './content/mentions.js';
import type { Renderer } from './content/renderer.js';
import { renderAudio, renderDocument, renderImage, renderSticker, renderVideo } from './content/file.js';
import { renderInteractive } from './content/interactive.js';
import {
  readDigits,
  renderAlbum,
  renderContact,
  renderLocation,
  renderPoll,
  renderText,
} from './content/plain.js';
import type { FileToUpload, UploadedFile } from './upload.js';

const PICTURE_MS = 15_000;

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
  album: renderAlbum,
};

interface BuildContext {
  facts: ContextFacts;
  /** Private identity key of the device. */
  key: Uint8Array;
  findRegistered: (phones: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  upload: (file: FileToUpload) => Promise<UploadedFile>;
}

/** @throws SendFailure */
export async function buildMessage(message: ClaimedMessage, context: BuildContext): Promise<EncodedMessage> {
  const content = JSON.parse(message.content) as OutboundContent;
  const render = Object.hasOwn(RENDERERS, content.type) ? RENDERERS[content.type] : undefined;
  // Content of a newer release.
  if (!render) throw SendFailure.refused('internal', 'a message of this type cannot be built');
  const { chat, quoted } = message;
  const { contextInfo: references, rewrite } = await prepareContext(
    { chat, quoted, mentions: content.mentions ?? [] },
    context.facts,
  );
  const file = await uploadMedia(message, content, context);
  const secret = deriveMessageSecret(message.wa_message_id, context.key);
  const {
    message: rendered,
    nodes,
    rendered_as = null,
    menu = null,
  } = render({
    content: rewriteContent(content, rewrite),
    mode: message.interactive_mode,
    file,
    registered: await context.findRegistered(content.contact?.phones.map(readDigits) ?? []),
    secret,
  });
  const expiry = await buildExpiry(message, context.facts);
  const contextInfo = { ...references, ...expiry, ...describePair(content) };
  const whole = joinWhole(addContext(rendered, contextInfo), content, chat);
  const built = { chat, message: whole, ...(nodes && { nodes }) };
  const card = encodeCard(rendered);
  return { bytes: encodeBuiltMessage(built), rendered_as, menu, ...(card && { card }) };
}

async function uploadMedia(
  message: ClaimedMessage,
  { type, finished, preview }: OutboundContent,
  { upload }: Pick<BuildContext, 'upload'>,
): Promise<UploadedFile | null> {
  if (preview?.picture) {
    const { sha256 } = preview.picture;
    const picture = { message, mediaType: 'thumbnail-link', sha256, size: 0, timeoutMs: PICTURE_MS } as const;
    // The small picture is in the message, so the text need not wait for hosts that fail.
    return upload(picture).catch(() => null);
  }
  if (!finished) return null;
  // Every type of message with a finished file is a type of Baileys' media too. An animation is a video.
  const mediaType = finished.gif ? 'video' : (type as MediaType);
  const { sha256, size } = finished;
  return upload({ message, mediaType, sha256, size });
}

/** The setting of disappearing messages, which apps state in each message. Admins set that of a group. */
async function buildExpiry(
  { chat, timer }: ClaimedMessage,
  { findGroup }: Pick<ContextFacts, 'findGroup'>,
): Promise<proto.IContextInfo> {
  if (isJidGroup(chat)) {
    const { ephemeralDuration } = await findGroup(chat);
    return ephemeralDuration ? { expiration: ephemeralDuration } : {};
  }
  if (!timer?.seconds) return {};
  return {
    expiration: timer.seconds,
    ephemeralSettingTimestamp: Math.floor(Date.parse(timer.set_at) / 1_000),
  };
}

/**
 * Derives the secret with which replies to a message (votes in a poll) are decrypted. It depends only on the
 * device's key and the message's id, so nothing has to be stored for as long as somebody may vote.
 */
export function deriveMessageSecret(waMessageId: string, key: Uint8Array): Uint8Array {
  // Key objects, because for bytes Node first throws and catches an error.
  const base = hkdfSync('sha256', createSecretKey(key), '', 'gwk message secrets', 32);
  return createHmac('sha256', createSecretKey(new Uint8Array(base)))
    .update(waMessageId)
    .digest();
}
