import { deliver } from '../post/mail.js';
import { mexNotification } from '../session/mex.js';
import type { World } from '../world.js';
import type { Account } from './account.js';

/** A person takes another username, or none. The clients of people who know the person are notified. */
export function rename(world: World, account: Account, username: string | null): void {
  if (username === null) delete account.username;
  else account.username = username;
  const lid = account.jid('lid');
  const operation = username === null ? 'UsernameDeleteNotification' : 'UsernameSetNotification';
  const data =
    username === null
      ? { xwa2_notify_username_delete: { lid, display_name: account.name } }
      : { xwa2_notify_username_on_change: { lid, username } };
  for (const other of world.people.all()) {
    if (!knows(world, other, account)) continue;
    for (const companion of other.companions.values())
      deliver(companion, mexNotification(world, operation, data));
  }
  world.changed();
}

function knows(world: World, other: Account, { number }: Account): boolean {
  if (other.receivedFrom.has(number)) return true;
  return [...world.groups.values()].some(
    ({ members }) => members.includes(number) && members.includes(other.number),
  );
}
