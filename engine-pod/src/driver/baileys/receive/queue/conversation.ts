import { isPnUser, jidNormalizedUser } from '@whiskeysockets/baileys';

/**
 * The key of the conversation whose messages must stay in order. It is the same for both sides and for both ids of
 * the contact: the LID, where the network states it.
 */
export function getConversationKey(attrs: Record<string, string>): string {
  const { from, sender_lid, recipient, recipient_lid, peer_recipient_lid } = attrs;
  const [name, lid] =
    recipient === undefined ? [from, sender_lid] : [recipient, peer_recipient_lid ?? recipient_lid];
  return jidNormalizedUser(isPnUser(name) ? (lid ?? name) : name);
}
