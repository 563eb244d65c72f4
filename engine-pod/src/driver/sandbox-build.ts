import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import type { MessageType, OutboundContent } from '@gwk/core/resources/message';
import { SendFailure, type Built } from './driver.js';

type Builder = (content: OutboundContent) => Built;

/** One builder for each type of message. */
const BUILDERS: Partial<Record<MessageType, Builder>> = { text: buildText };

/** @throws SendFailure for a type that has no builder */
export function buildForSandbox(message: ClaimedMessage): Built {
  const content = JSON.parse(message.content) as OutboundContent;
  const builder = BUILDERS[content.type];
  if (!builder) throw SendFailure.refused('internal', `a message of type ${content.type} cannot be built`);
  return builder(content);
}

function buildText(content: OutboundContent): Built {
  return { bytes: Buffer.from(JSON.stringify({ type: 'text', text: content.text })), rendered_as: null };
}
