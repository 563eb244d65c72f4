import { isPnUser, jidNormalizedUser } from '@whiskeysockets/baileys';

/**
 * What has to stay in order. By whichever side it was written, and by whichever name of the contact: the hidden id, where
 * the network tells it.
 */
export function getConversationKey(attrs: Record<string, string>): string {
  const { from, sender_lid, recipient, recipient_lid, peer_recipient_lid } = attrs;
  const [name, lid] =
    recipient === undefined ? [from, sender_lid] : [recipient, peer_recipient_lid ?? recipient_lid];
  return jidNormalizedUser(isPnUser(name) ? (lid ?? name) : name);
}
