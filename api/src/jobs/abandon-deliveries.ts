import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

const GROUP = 1_000;

/** What waits for destinations that were removed or disabled leaves the queue, and has failed. */
export function abandonDeliveriesJob({ db }: JobDependencies): Job {
  return {
    name: 'abandon',
    everyMs: 1_000,
    async pass() {
      const [row] = await db.$queryRaw<{ amount: number }[]>`
        SELECT gwk_abandon_webhooks(${GROUP}::integer) AS amount`;
      return { amount: row!.amount, more: row!.amount === GROUP };
    },
  };
}
