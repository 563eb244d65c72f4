import type { Job, JobResult } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

/** Retention of rows that are deleted one by one. */
export interface RetentionOptions {
  contentHours: number;
  stateMonths: number;
  auditMonths: number;
}

const GROUP = 1_000;
/** Hours after sending that gwk_update_messages writes into delete_at. */
const CONTENT_HOURS_WRITTEN = 24;
/** Longest window of the mass block. */
const MASS_SENDS_HOURS = 24;
/** The public status covers 30 days. */
const FORMAT_CHECK_DAYS = 90;
/** Longer than the retry schedule of webhooks. */
const TRACE_DAYS = 3;
/** Longer than the network stores undelivered messages. */
const INBOUND_SEEN_DAYS = 30;

/** Hours that content is kept beyond its delete_at; negative: less. */
export const hoursBeyondWritten = ({ contentHours }: Pick<RetentionOptions, 'contentHours'>): number =>
  contentHours - CONTENT_HOURS_WRITTEN;

/** Statements that delete a batch of due rows each and skip rows that other transactions have locked. */
const EXPIRING: Record<string, (options: RetentionOptions) => string> = {
  content: (options) => `
    DELETE FROM message_contents WHERE message_id IN (
      SELECT message_id FROM message_contents
      WHERE delete_at <= now() - interval '${hoursBeyondWritten(options)} hours'
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  idempotency: () => `
    DELETE FROM idempotency_records WHERE id IN (
      SELECT id FROM idempotency_records WHERE expires_at <= now()
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'mass-sends': () => `
    DELETE FROM mass_sends WHERE (fingerprint, contact_id) IN (
      SELECT fingerprint, contact_id FROM mass_sends
      WHERE at <= now() - interval '${MASS_SENDS_HOURS} hours'
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'inbound-seen': () => `
    DELETE FROM inbound_seen WHERE (conversation_id, participant, wa_message_id) IN (
      SELECT conversation_id, participant, wa_message_id FROM inbound_seen
      WHERE seen_at <= now() - interval '${INBOUND_SEEN_DAYS} days'
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  menus: () => `
    DELETE FROM menus WHERE message_id IN (
      SELECT message_id FROM menus WHERE delete_at <= now() LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'trace-contexts': () => `
    DELETE FROM trace_contexts WHERE id IN (
      SELECT id FROM trace_contexts WHERE id < gwk_lowest_id(now() - interval '${TRACE_DAYS} days')
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'webhook-secrets': () => `
    DELETE FROM webhook_secrets WHERE id IN (
      SELECT id FROM webhook_secrets WHERE expires_at <= now() LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'contact-checks': () => `
    DELETE FROM contact_checks WHERE (instance_id, phone) IN (
      SELECT instance_id, phone FROM contact_checks WHERE checked_at <= now() - interval '24 hours'
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'instance-states': ({ stateMonths }) => `
    DELETE FROM instance_states WHERE id IN (
      SELECT id FROM instance_states WHERE ended_at <= now() - interval '${stateMonths} months'
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'instance-suspensions': ({ stateMonths }) => `
    DELETE FROM instance_suspensions WHERE id IN (
      SELECT id FROM instance_suspensions WHERE ended_at <= now() - interval '${stateMonths} months'
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'audit-entries': ({ auditMonths }) => `
    DELETE FROM audit_entries WHERE id IN (
      SELECT id FROM audit_entries
      WHERE id < gwk_lowest_id(now() - interval '${auditMonths} months') AND reported_at IS NOT NULL
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'format-checks': () => `
    DELETE FROM format_checks WHERE id IN (
      SELECT id FROM format_checks WHERE started_at <= now() - interval '${FORMAT_CHECK_DAYS} days'
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
};

export function retentionJob({ db }: JobDependencies, options: RetentionOptions): Job {
  const statements = Object.values(EXPIRING).map((make) => make(options));
  return {
    name: 'retention',
    everyMs: 10_000,
    async pass(): Promise<JobResult> {
      let amount = 0;
      let more = false;
      for (const statement of statements) {
        const removed = await db.$executeRawUnsafe(statement);
        amount += removed;
        more ||= removed === GROUP;
      }
      return { amount, more };
    },
  };
}
