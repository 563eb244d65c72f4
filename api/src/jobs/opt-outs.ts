import { finishOptOut } from '../contacts/contacts.js';
import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

const CONTACTS = 20;

/** Fails the rest of the queued messages of opted-out contacts, beyond those that the opt-out's transaction failed. */
export function optOutsJob({ db, sealer }: Pick<JobDependencies, 'db' | 'sealer'>): Job {
  return {
    name: 'opt-outs',
    everyMs: 500,
    async pass() {
      const rows = await db.$queryRaw<{ contact_id: string }[]>`
        SELECT contact_id FROM opt_outs WHERE unfinished ORDER BY contact_id LIMIT ${CONTACTS}::integer`;
      let amount = 0;
      let more = false;
      for (const { contact_id: contactId } of rows) {
        const finished = await finishOptOut({ database: db, sealer }, contactId);
        amount += finished.failed;
        more ||= finished.more;
      }
      return { amount, more };
    },
  };
}
