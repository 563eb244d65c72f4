import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

const PATIENCE_MS = 5_000;
const PER_INSTANCE = 5;

/** Rings again for what has waited while its instance is connected: Redis may have lost the bell. */
export function renotifyJob({ db, sendNotifier }: JobDependencies, patienceMs = PATIENCE_MS): Job {
  return {
    name: 'renotify',
    everyMs: 1_000,
    async pass() {
      const rows = await db.$queryRaw<{ instance_id: string; message_id: string }[]>`
        SELECT * FROM gwk_renotify(${patienceMs}::integer, ${PER_INSTANCE}::integer)`;
      await sendNotifier.notify(
        rows.map((row) => ({ instanceId: row.instance_id, messageId: row.message_id })),
      );
      return { amount: rows.length, more: false };
    },
  };
}
