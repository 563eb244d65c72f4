import { trackIncidents } from '../alerts/incidents.js';
import { NOTICES_AT_ONCE, sendNotices, type NoticeDeps } from '../alerts/notices.js';
import type { Job } from '../platform/job.js';

const systemTime = (): Date => new Date();

/** Finds incidents of numbers and endpoints, for accounts with alert contacts. */
export const alertIncidentsJob = ({ db }: Pick<NoticeDeps, 'db'>, now = systemTime): Job => ({
  name: 'alert-incidents',
  everyMs: 5_000,
  pass: async () => ({ amount: await trackIncidents(db, now()), more: false }),
});

/** Sends their begins and ends to the contacts. */
export const alertNoticesJob = (deps: NoticeDeps, now = systemTime): Job => ({
  name: 'alert-notices',
  everyMs: 2_000,
  async pass() {
    const amount = await sendNotices(deps, now());
    return { amount, more: amount === NOTICES_AT_ONCE };
  },
});
