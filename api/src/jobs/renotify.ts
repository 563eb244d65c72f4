import { toFields } from '../database/model-columns.js';
import type { SendNotification } from '../messages/send-notifier.js';
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
      const heads = toFields<SendNotification>(
        await db.$queryRaw`
        SELECT * FROM gwk_renotify(${waitedMs}::integer, ${PER_INSTANCE}::integer)`,
      );
      await sendNotifier.notify(heads);
      return { amount: heads.length, more: false };
    },
  };
}
