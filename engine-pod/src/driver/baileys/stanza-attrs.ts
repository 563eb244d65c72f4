import { jidNormalizedUser } from '@whiskeysockets/baileys';

/**
 * The id of a person or a chat, without its device. The device of a business at the Cloud API has servers of its own: it is
 * the person whose phone number or LID it has.
 */
export function normaliseJid(jid: string | null | undefined): string {
  const id = jidNormalizedUser(jid ?? undefined);
  if (id.endsWith('@hosted')) return id.replace('@hosted', '@s.whatsapp.net');
  return id.endsWith('@hosted.lid') ? id.replace('@hosted.lid', '@lid') : id;
}

/** The time of a stanza, not in the future. The arrival counts if it states none that is a date. */
export function readTime(t: string | undefined): string {
  const now = Date.now();
  const at = Number(t) * 1_000;
  return new Date(at > 0 && at < now ? at : now).toISOString();
}
