import { decideWaiting, type FailureCode } from '@gwk/core/states';
import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';
import {
  ALL,
  failWaiting,
  isWholeGroup,
  waitingInstances,
  type WaitingInstance,
} from './waiting-messages.js';

/** Failure code for the queued messages of an instance that cannot send (never paired, logged out, banned, deleted); null: they wait. */
export function decideRefusal({
  state,
  deleted,
}: Pick<WaitingInstance, 'state' | 'deleted'>): FailureCode | null {
  if (deleted) return 'canceled';
  const verdict = decideWaiting(state);
  return verdict === 'wait' ? null : verdict;
}

export function refuseMessagesJob(deps: JobDependencies): Job {
  return {
    name: 'refuse',
    everyMs: 500,
    async pass() {
      let amount = 0;
      let more = false;
      for (const instance of await waitingInstances(deps)) {
        const code = decideRefusal(instance);
        if (code === null) continue;
        const failed = await failWaiting(deps, instance.instanceId, ALL, code);
        amount += failed;
        more ||= isWholeGroup(failed);
      }
      return { amount, more };
    },
  };
}
