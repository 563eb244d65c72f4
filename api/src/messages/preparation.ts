import type { OutboundContent } from '@gwk/core/resources/message';
import { findFirstLink } from './first-link.js';

/**
 * Whether the worker has to fetch, convert or preview something before the message can be claimed. The message keeps its
 * place in the conversation meanwhile.
 */
export function needsPreparation(content: OutboundContent): boolean {
  const { text } = content;
  if (text) return text.preview_url === true && findFirstLink(text.body) !== null;
  return extractMedia(content) !== null;
}

/** Returns the media reference of a message as the request stated it. */
export function extractMedia(content: OutboundContent) {
  const carrier = content.image ?? content.video ?? content.document ?? content.audio ?? content.sticker;
  return carrier?.media ?? null;
}
