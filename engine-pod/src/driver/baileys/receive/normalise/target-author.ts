import { type proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { Envelope, OwnIds } from './envelope.js';
import { normaliseJid } from '../../stanza-attrs.js';

type TargetAuthor = NonNullable<NonNullable<InboundMessage['change']>['author']>;

const MAX_JID = 100;

/** Reads who wrote the changed message. Senders write its key from their own view. Undefined if the key does not name one. */
export function findTargetAuthor(
  { protocolMessage, reactionMessage }: proto.IMessage,
  { from, fromMe, isGroup }: Pick<Envelope, 'from' | 'fromMe' | 'isGroup'>,
  own: OwnIds,
): TargetAuthor | undefined {
  const key = protocolMessage?.key ?? reactionMessage?.key;
  if (!key) return undefined;
  if (key.fromMe) return { from_me: fromMe, participant: isGroup && !fromMe ? from : null };
  return isGroup ? findMember(key, own) : { from_me: !fromMe, participant: null };
}

function findMember({ participant }: proto.IMessageKey, own: OwnIds): TargetAuthor | undefined {
  const member = normaliseJid(participant).slice(0, MAX_JID);
  if (member === '') return undefined;
  const isOwn = member === own.jid || member === own.lid;
  return { from_me: isOwn, participant: isOwn ? null : member };
}
