import { RESEND_BATCH } from '../webhooks/resend.js';
import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

/** Continues large retry-failed requests. */
export function resendDeliveriesJob({ db }: Pick<JobDependencies, 'db'>): Job {
  return {
    name: 'resend',
    everyMs: 500,
    async pass() {
      const [row] = await db.$queryRaw<{ resent: number | null }[]>`
        SELECT gwk_continue_resend(${RESEND_BATCH}::integer) AS resent`;
      const { resent } = row!;
      return { amount: resent ?? 0, more: resent !== null };
    },
  };
}
