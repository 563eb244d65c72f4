import { MEDIA_DAYS } from '@gwk/core/resources/media';
import type { Job, JobResult } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';
import type { MediaStore } from '../media/store/store.js';

const GROUP = 500;
const FILES_AT_ONCE = 20;
const EVERY_MS = 10_000;

/**
 * Expires files after 30 days: removes the file and its key at once and the row 30 days later; until then a download answers
 * `media-expired`. A file that was made for a message expires with the message's content.
 */
export function expiredMediaJob({ db }: JobDependencies): Job {
  const statements = [
    `UPDATE media SET removed_at = now(), key_sealed = ''::bytea, filename_sealed = NULL WHERE id IN (
       SELECT id FROM media WHERE expires_at <= now() AND removed_at IS NULL
       LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
    `DELETE FROM media WHERE id IN (
       SELECT id FROM media WHERE expires_at <= now() - interval '${MEDIA_DAYS} days' AND removed_at IS NOT NULL
       LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
    `DELETE FROM media WHERE id IN (
       SELECT m.id FROM media m WHERE m.message_id IS NOT NULL
         AND NOT EXISTS (SELECT FROM message_contents c WHERE c.message_id = m.message_id)
       LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  ];
  return {
    name: 'media',
    everyMs: EVERY_MS,
    async pass(): Promise<JobResult> {
      let amount = 0;
      let more = false;
      for (const statement of statements) {
        const changed = await db.$executeRawUnsafe(statement);
        amount += changed;
        more ||= changed === GROUP;
      }
      return { amount, more };
    },
  };
}

/**
 * Removes files that no row references. It locks the key meanwhile, so a row that wants to reference the file waits and then
 * finds it deleted.
 */
export function mediaFileRemovalJob({ db }: JobDependencies, store: MediaStore): Job {
  return {
    name: 'media-files',
    everyMs: EVERY_MS / 2,
    async pass(): Promise<JobResult> {
      const amount = await db.$transaction(
        async (tx) => {
          const rows = await tx.$queryRaw<{ store_key: string }[]>`
            DELETE FROM store_removals WHERE store_key IN (
              SELECT store_key FROM store_removals WHERE due_at <= now()
              ORDER BY due_at LIMIT ${FILES_AT_ONCE} FOR UPDATE SKIP LOCKED)
            RETURNING store_key`;
          await Promise.all(rows.map((row) => store.remove(row.store_key)));
          return rows.length;
        },
        { timeout: 60_000 },
      );
      return { amount, more: amount === FILES_AT_ONCE };
    },
  };
}
