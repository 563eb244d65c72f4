import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

const WAITED_MS = 5_000;
const PER_INSTANCE = 5;

/** Notifies engines again of messages that wait although their instance is connected: Redis may have lost the notification. */
export function renotifyJob({ db, sendNotifier }: JobDependencies, waitedMs = WAITED_MS): Job {
  return {
    name: 'renotify',
    everyMs: 1_000,
    async pass() {
      const rows = await db.$queryRaw<{ instance_id: string; message_id: string }[]>`
        SELECT * FROM gwk_renotify(${waitedMs}::integer, ${PER_INSTANCE}::integer)`;
      await sendNotifier.notify(
        rows.map((row) => ({ instanceId: row.instance_id, messageId: row.message_id })),
      );
      return { amount: rows.length, more: false };
    },
  };
}
