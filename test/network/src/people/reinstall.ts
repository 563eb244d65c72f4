import { deliver } from '../post/mail.js';
import { node, seconds } from '../wire/nodes.js';
import type { World } from '../world.js';
import type { Account } from './account.js';
import { Handset } from './handset.js';

/**
 * Replaces the person's phone or app: new identity, no sessions. The clients of people who know the person are notified
 * of the new identity.
 */
export function reinstall(world: World, account: Account): void {
  if (account.companions.size > 0) throw new Error(`${account.number} has linked devices: unlink them first`);
  account.handsets.set(0, new Handset(account, 0));
  for (const other of world.people.all()) {
    if (!other.receivedFrom.has(account.number)) continue;
    const attributes = { from: account.jid('lid'), type: 'encrypt', id: world.nextId('id-'), t: seconds() };
    for (const companion of other.companions.values()) {
      deliver(companion, node('notification', attributes, [node('identity')]));
    }
  }
}
