import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

const GROUP = 1_000;

/** Fails the queued deliveries of endpoints that were removed or disabled. */
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
