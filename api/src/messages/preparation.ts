import type { OutboundContent } from '@gwk/core/resources/message';

const LINK = /\bhttps?:\/\//i;

/**
 * Whether the worker has something to fetch, convert or preview before the message can be claimed (design: Media
 * first). Such a message keeps its place in the conversation.
 */
export function needsPreparation(content: OutboundContent): boolean {
  const { text } = content;
  if (text) return text.preview_url === true && LINK.test(text.body);
  return mediaOf(content) !== null;
}

/** The file that a message carries, as it was given. */
export function mediaOf(content: OutboundContent) {
  const carrier = content.image ?? content.video ?? content.document ?? content.audio ?? content.sticker;
  return carrier?.media ?? null;
}
