import type { Clock } from '@gwk/core/clock';
import type { Logger } from '@gwk/core/process/log';
import { unrefClock, waitOnClock } from '../../../clock.js';
import { SendFailure } from '../../driver.js';
import { namesOf } from '../groups/changes.js';
import type { GroupDirectory } from '../groups/group-directory.js';
import { normaliseJid } from '../stanza-attrs.js';

interface AdminSource {
  /** Null while not connected. */
  findGroups: () => Pick<GroupDirectory, 'find'> | null;
  /** Aborted when nobody waits any longer. */
  signal: AbortSignal;
  log: Logger;
  clock?: Clock;
}

const ATTEMPTS = 10;
const RETRY_MS = 3_000;

/**
 * Finds out whether a member of a group is one of its admins. Without an answer nobody is.
 * @param member all ids of the member
 */
export async function isAdmin(
  { findGroups, signal, log, clock = unrefClock }: AdminSource,
  group: string,
  member: readonly string[],
): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS && !signal.aborted; attempt++) {
    const found = await findGroups()
      ?.find(group)
      .catch((error: unknown) => error as SendFailure);
    if (found instanceof SendFailure && !found.retriable) break;
    if (found && !(found instanceof SendFailure))
      return found.participants.some(
        (known) => known.admin && namesOf(known).some((name) => member.includes(normaliseJid(name))),
      );
    await waitOnClock(clock, RETRY_MS, signal);
  }
  log.warn('admins of a group are unknown; deletion ignored');
  return false;
}
