import type { Job } from '../platform/job.js';
import { RESEND_BATCH } from '../webhooks/resend.js';
import type { JobDependencies } from './dependencies.js';

const GROUP = 1_000;

/** Fails the queued deliveries of endpoints that were removed or disabled. */
export const abandonDeliveriesJob = ({ db }: JobDependencies): Job => ({
  name: 'abandon',
  everyMs: 1_000,
  async pass() {
    const [row] = await db.$queryRaw<[{ amount: number }]>`
      SELECT gwk_abandon_webhooks(${GROUP}::integer) AS amount`;
    return { amount: row.amount, more: row.amount === GROUP };
  },
});

/** Continues large retry-failed requests. */
export const resendDeliveriesJob = ({ db }: JobDependencies): Job => ({
  name: 'resend',
  everyMs: 500,
  async pass() {
    const [{ resent }] = await db.$queryRaw<[{ resent: number | null }]>`
      SELECT gwk_continue_resend(NULL, ${RESEND_BATCH}::integer) AS resent`;
    return { amount: resent ?? 0, more: resent !== null };
  },
});
