import { MEDIA_DAYS } from '@gwk/core/resources/media';
import type { Database } from '../database/database.js';
import { Prisma } from '../generated/prisma/client.js';
import type { MediaStore } from '../media/store/store.js';
import { passBatches, type Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

/** Retention of rows that are deleted one by one. */
export interface RetentionOptions {
  contentHours: number;
  stateMonths: number;
  auditMonths: number;
}

const EVERY_MS = 10_000;
const GROUP = 1_000;
const MEDIA_GROUP = 500;
const FILES_AT_ONCE = 20;
/** Hours after sending that gwk_update_messages writes into delete_at. */
const CONTENT_HOURS_WRITTEN = 24;
/** Longest window of the mass block. */
const MASS_SENDS_HOURS = 24;
/** The public status covers 30 days. */
const FORMAT_CHECK_DAYS = 90;
/** Longer than a notice is repeated. */
const INCIDENT_DAYS = 90;
/** As long as messages are kept by default. */
const CARD_DAYS = 90;
/** Longer than the retry schedule of webhooks. */
const TRACE_DAYS = 3;
/** Longer than the network stores undelivered messages. */
const INBOUND_SEEN_DAYS = 30;

/** Hours that content is kept beyond its delete_at; negative: less. */
export const hoursBeyondWritten = ({ contentHours }: Pick<RetentionOptions, 'contentHours'>): number =>
  contentHours - CONTENT_HOURS_WRITTEN;

/** Tables with the key of their rows and the condition of due rows. */
const listExpiring = (options: RetentionOptions): [table: string, key: string, due: string][] => [
  ['message_contents', 'message_id', `delete_at <= now() - interval '${hoursBeyondWritten(options)} hours'`],
  ['idempotency_records', 'id', 'expires_at <= now()'],
  ['mass_sends', 'fingerprint, contact_id', `at <= now() - interval '${MASS_SENDS_HOURS} hours'`],
  [
    'inbound_seen',
    'conversation_id, participant, wa_message_id',
    `seen_at <= now() - interval '${INBOUND_SEEN_DAYS} days'`,
  ],
  ['notices_seen', 'instance_id, name', `seen_at <= now() - interval '${INBOUND_SEEN_DAYS} days'`],
  ['decoded_files', 'id', 'expires_at <= now()'],
  ['menus', 'message_id', 'delete_at <= now()'],
  ['message_cards', 'message_id', `message_id < gwk_lowest_id(now() - interval '${CARD_DAYS} days')`],
  ['trace_contexts', 'id', `id < gwk_lowest_id(now() - interval '${TRACE_DAYS} days')`],
  ['webhook_secrets', 'id', 'expires_at <= now()'],
  ['contact_checks', 'instance_id, name', `checked_at <= now() - interval '24 hours'`],
  ['instance_states', 'id', `ended_at <= now() - interval '${options.stateMonths} months'`],
  ['instance_suspensions', 'id', `ended_at <= now() - interval '${options.stateMonths} months'`],
  [
    'audit_entries',
    'id',
    `id < gwk_lowest_id(now() - interval '${options.auditMonths} months') AND reported_at IS NOT NULL`,
  ],
  ['user_sessions', 'id', 'expires_at <= now()'],
  ['known_devices', 'token_hash, user_id', 'expires_at <= now()'],
  ['sign_in_failures', 'id', 'expires_at <= now()'],
  ['handoffs', 'id', 'expires_at <= now()'],
  ['passkey_challenges', 'id', 'expires_at <= now()'],
  ['provider_sign_ins', 'id', 'expires_at <= now()'],
  ['invitations', 'id', 'expires_at <= now()'],
  ['alert_incidents', 'id', `ended_at <= now() - interval '${INCIDENT_DAYS} days'`],
  ['format_checks', 'id', `started_at <= now() - interval '${FORMAT_CHECK_DAYS} days'`],
];

/** Selects a batch of due rows and skips rows that other transactions have locked. */
const selectDue = (table: string, key: string, due: string, size: number): string =>
  `(${key}) IN (SELECT ${key} FROM ${table} WHERE ${due} LIMIT ${size} FOR UPDATE SKIP LOCKED)`;

const batchJob = (db: Database, name: string, size: number, statements: readonly string[]): Job => ({
  name,
  everyMs: EVERY_MS,
  pass: () => passBatches(statements, size, (statement) => db.$executeRaw(Prisma.raw(statement))),
});

export function retentionJob({ db }: JobDependencies, options: RetentionOptions): Job {
  const statements = listExpiring(options).map(
    ([table, key, due]) => `DELETE FROM ${table} WHERE ${selectDue(table, key, due, GROUP)}`,
  );
  return batchJob(db, 'retention', GROUP, statements);
}

/**
 * Expires files after 30 days: removes the file and its key at once and the row 30 days later; until then a download answers
 * `media-expired`. A file that was made for a message expires with the message's content.
 */
export function expiredMediaJob({ db }: JobDependencies): Job {
  const select = (due: string): string => selectDue('media', 'id', due, MEDIA_GROUP);
  const statements = [
    `UPDATE media SET removed_at = now(), key_sealed = ''::bytea, filename_sealed = NULL
     WHERE ${select('expires_at <= now() AND removed_at IS NULL')}`,
    `DELETE FROM media
     WHERE ${select(`expires_at <= now() - interval '${MEDIA_DAYS} days' AND removed_at IS NOT NULL`)}`,
    `DELETE FROM media WHERE ${select(`message_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM message_contents c WHERE c.message_id = media.message_id)`)}`,
  ];
  return batchJob(db, 'media', MEDIA_GROUP, statements);
}

/**
 * Removes files that no row references. It locks the key meanwhile, so a row that wants to reference the file waits and then
 * finds it deleted.
 */
export function mediaFileRemovalJob({ db }: JobDependencies, store: MediaStore): Job {
  return {
    name: 'media-files',
    everyMs: EVERY_MS / 2,
    async pass() {
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
