import type { proto } from '@whiskeysockets/baileys';
import { seconds } from '../wire/nodes.js';
import type { World } from '../world.js';
import type { Account } from './account.js';
import { stanzaType } from './stanza-type.js';
import { toCompanions, type WriteOptions } from './writing.js';

export interface BroadcastList {
  /** JID of the list, which only its owner knows. */
  jid: string;
  members: Account[];
}

/** Message ids are unique only together with their author. */
export const listedName = ({ number }: Account, id: string): string => `${number} ${id}`;

/**
 * A person writes to a broadcast list. Each member's devices get the message in their own sessions, from the list; the
 * owner's linked devices get a copy.
 */
export async function writeToList(
  world: World,
  owner: Account,
  list: BroadcastList,
  content: { message: proto.IMessage; options?: WriteOptions },
): Promise<string> {
  const { message, options = {} } = content;
  const id = options.id ?? world.nextId();
  const server = owner.shownAs(options.addressing);
  const attributes = {
    id,
    from: list.jid,
    participant: owner.jid(server),
    ...owner.otherNames('participant', server),
    addressing_mode: server,
    notify: options.name ?? owner.name,
    t: seconds(),
    ...stanzaType(message),
    ...options.attributes,
  };
  const { phone } = owner;
  world.listed.set(listedName(owner, id), list.jid);
  phone.keep({ id, message, to: list.jid, attributes });
  for (const member of list.members) {
    member.receivedFrom.add(owner.number);
    await toCompanions(phone, member, { message, attributes });
  }
  const copy = { deviceSentMessage: { destinationJid: list.jid, message } };
  await toCompanions(phone, owner, { message: copy, attributes });
  world.changed();
  return id;
}
