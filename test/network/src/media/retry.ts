import type { Companion } from '../people/account.js';
import { deliver } from '../post/mail.js';
import { child, node, seconds, type Node } from '../wire/nodes.js';
import type { World } from '../world.js';
import { fileIn, movedNotice } from './messages.js';

const GONE = '2';

/**
 * Answers a media retry request: a client could not download a file and asks its phone, which uploads its copy and
 * sends the new location. The phone keeps the file as the sender's device wrote it.
 */
export function askedForFile(world: World, companion: Companion, stanza: Node): void {
  const id = stanza.attrs.id ?? '';
  const named = child(stanza, 'rmr')?.attrs ?? {};
  const sender = world.people.byJid(named.participant ?? named.jid);
  const file = fileIn(sender?.phone.kept(id)?.message);
  const kept = file && world.keptFiles.get(file.reference.directPath);
  const content =
    file && kept && world.media
      ? found(file.reference.mediaKey, id, world.media.put(kept, 'phone').directPath)
      : [node('error', { code: GONE })];
  const attributes = { from: companion.account.jid('pn'), type: 'mediaretry', id, t: seconds() };
  const rmr = node('rmr', { jid: named.jid, from_me: named.from_me, participant: named.participant });
  deliver(companion, node('notification', attributes, [...content, rmr]));
}

function found(mediaKey: Uint8Array, id: string, directPath: string): Node[] {
  const { iv, ciphertext } = movedNotice(mediaKey, id, directPath);
  return [node('encrypt', {}, [node('enc_p', {}, ciphertext), node('enc_iv', {}, iv)])];
}
