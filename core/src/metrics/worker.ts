import { counter, gauge, histogram } from './metric.js';

/**
 * Of `gwk worker`. What is read from Postgres is the same in every replica (take the maximum, not the sum), at most
 * ten seconds old (a minute where Postgres is slow), and NaN where Postgres does not say.
 */
export const WORKER_METRICS = {
  attempts: counter({
    name: 'gwk_webhook_attempts_total',
    help: 'Attempts to deliver webhooks, by what became of the delivery.',
    labelNames: ['result'],
  }),
  latency: histogram({
    name: 'gwk_webhook_latency_seconds',
    help: 'How long webhook destinations took to answer, by what became of the delivery.',
    labelNames: ['result'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
  }),
  callsInFlight: gauge({
    name: 'gwk_webhook_calls_in_flight',
    help: 'Webhook calls under way in this worker.',
  }),
  queueDeliveries: gauge({
    name: 'gwk_webhook_queue_deliveries',
    help: 'Deliveries that are not ended: due, under way, or waiting for their next attempt.',
  }),
  queueAge: gauge({
    name: 'gwk_webhook_queue_age_seconds',
    help: 'How late the oldest due delivery is, those under way included: to healthy destinations, and to failing ones (disabled ones among them), whose deliveries are held back.',
    labelNames: ['endpoint_state'],
  }),
  endpoints: gauge({
    name: 'gwk_webhook_endpoints',
    help: 'Webhook destinations: enabled, failing (enabled, and their last call of what waits failed), disabled by their owner, or disabled by gwk because they kept failing.',
    labelNames: ['state'],
  }),
  sendMessages: gauge({
    name: 'gwk_send_queue_messages',
    help: 'Outbound messages that have not left, by state: scheduled, waiting, claimed by an engine.',
    labelNames: ['state'],
  }),
  sendAge: gauge({
    name: 'gwk_send_queue_age_seconds',
    help: 'How long the oldest message has been the next of its conversation while its number is connected; the pacing of its policy included.',
  }),
  sendStalledAge: gauge({
    name: 'gwk_send_stalled_age_seconds',
    help: 'How long the connected number that has stood still longest has sent and claimed nothing although a message of it is due; at most an hour, 0 where there is none, without those of suspended accounts.',
  }),
  scheduledOverdue: gauge({
    name: 'gwk_scheduled_overdue_seconds',
    help: 'By how much the oldest scheduled message is past the time at which it was to be released.',
  }),
  instances: gauge({
    name: 'gwk_instances',
    help: 'Instances by their stored state.',
    labelNames: ['state'],
  }),
  instancesDown: gauge({
    name: 'gwk_instances_down',
    help: 'Instances that are to reconnect by themselves and have been without a connection for over 5 minutes: neither suspended nor logged out nor banned.',
  }),
  jobRuns: counter({
    name: 'gwk_worker_job_runs_total',
    help: 'Passes of the loops of this worker, by result.',
    labelNames: ['job_name', 'result'],
  }),
  jobOverdue: gauge({
    name: 'gwk_worker_job_overdue_seconds',
    help: 'How long ago a loop of this worker was to have ended its next pass well; 0 while it is not due.',
    labelNames: ['job_name'],
  }),
  jobItems: counter({
    name: 'gwk_worker_job_items_total',
    help: 'What the loops of this worker have dealt with: messages, rows, instances.',
    labelNames: ['job_name'],
  }),
  livenessReads: counter({
    name: 'gwk_availability_liveness_reads_total',
    help: 'Reads of signs of life (of Prometheus, or of heartbeats) of engines that did not renew their lease, by result.',
    labelNames: ['source', 'result'],
  }),
  preparations: counter({
    name: 'gwk_preparations_total',
    help: 'Messages with files and previews, by what became of their preparation: prepared, retried, unavailable.',
    labelNames: ['result'],
  }),
  preparationAge: gauge({
    name: 'gwk_preparation_age_seconds',
    help: 'How long the oldest message with a file has not been prepared.',
  }),
  retentionOverdue: gauge({
    name: 'gwk_retention_overdue_seconds',
    help: 'By how much the oldest content of a message has outlived its time.',
  }),
  partitionsExpired: gauge({
    name: 'gwk_partitions_expired',
    help: 'Days of messages, events and webhook deliveries that are to be dropped and are still there, each table counted.',
  }),
  databaseBytes: gauge({
    name: 'gwk_database_size_bytes',
    help: 'Size of the database, indexes included.',
  }),
} as const;
