import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';
import {
  failWaiting,
  isWholeGroup,
  waitingInstances,
  type WaitingInstance,
  type Which,
} from './waiting-messages.js';

/**
 * Selects the messages of an instance that have waited too long (docs/interface.md). Only time counts in which the instance
 * was offline or the account suspended. Null: none can have expired.
 */
export function selectExpired(instance: WaitingInstance, afterMs: number): Which | null {
  const { offlineMs, suspendedMs } = instance;
  const startedAtMost = offlineMs >= afterMs ? offlineMs - afterMs : null;
  const acceptedMsAgo = suspendedMs !== null && suspendedMs >= afterMs ? afterMs : null;
  return startedAtMost === null && acceptedMsAgo === null
    ? null
    : { startedAtMost, waitedMs: afterMs, acceptedMsAgo };
}

export function expireMessagesJob(deps: JobDependencies, expireAfterMs: number): Job {
  return {
    name: 'expire',
    everyMs: 1_000,
    async pass() {
      let amount = 0;
      let more = false;
      for (const instance of await waitingInstances(deps)) {
        const which = selectExpired(instance, expireAfterMs);
        if (which === null) continue;
        const expired = await failWaiting(deps, instance.instanceId, which, 'expired');
        amount += expired;
        more ||= isWholeGroup(expired);
      }
      return { amount, more };
    },
  };
}
