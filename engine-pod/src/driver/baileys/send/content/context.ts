import { isJidGroup, WAMessageAddressingMode, type GroupMetadata, type proto } from '@whiskeysockets/baileys';
import type { ClaimedMessage, QuotedMessage } from '@gwk/core/protocol/engine';
import { buildQuotedContent } from '../../quoted-card.js';
import type { OwnIds } from '../../receive/normalise/envelope.js';
import { resolveMentions, type Mentions, type MemberSearch } from './mentions.js';

/** Facts about a chat that the context of a message depends on. */
export interface ContextFacts extends MemberSearch {
  own: OwnIds;
  /** @throws SendFailure */
  findGroup: (chat: string) => Promise<GroupMetadata>;
}

/** A message refers to its quote and mentions by the ids that its chat uses. @throws SendFailure */
export async function prepareContext(
  { chat, quoted, mentions }: { chat: string; quoted: QuotedMessage | null; mentions: readonly string[] },
  facts: ContextFacts,
): Promise<{ contextInfo: proto.IContextInfo | null; rewrite: Mentions['rewrite'] }> {
  const refersToIds = mentions.length > 0 || quoted?.from_me === true;
  const group = isJidGroup(chat) && refersToIds ? await facts.findGroup(chat) : null;
  const { jids, rewrite } = await resolveMentions(mentions, group, facts);
  const usesLids = group ? group.addressingMode === WAMessageAddressingMode.LID : chat.endsWith('@lid');
  const own = (usesLids && facts.own.lid) || facts.own.jid;
  return { contextInfo: buildContext(quoted, jids, { chat, own }), rewrite };
}

/** Builds the part of a message that names the quoted message and the mentioned ids. Null when it has neither. */
function buildContext(
  quoted: QuotedMessage | null,
  mentionedJid: string[],
  { chat, own }: { chat: ClaimedMessage['chat']; own: string },
): proto.IContextInfo | null {
  if (!quoted && mentionedJid.length === 0) return null;
  return {
    ...(quoted && {
      stanzaId: quoted.wa_message_id,
      participant: quoted.from_me ? own : (quoted.participant ?? quoted.chat),
      quotedMessage: buildQuotedContent(quoted),
      ...(quoted.chat !== chat && { remoteJid: quoted.chat }),
    }),
    ...(mentionedJid.length > 0 && { mentionedJid }),
  };
}

/** Adds the context to the field of the message's type. */
export function addContext(message: proto.IMessage, contextInfo: proto.IContextInfo): proto.IMessage {
  if (Object.keys(contextInfo).length === 0) return message;
  return Object.fromEntries(
    Object.entries(message).map(([field, content]) => [
      field,
      field === 'messageContextInfo' ? (content as unknown) : { ...(content as object), contextInfo },
    ]),
  );
}
