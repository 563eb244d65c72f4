import { counter, gauge, histogram } from './metric.js';

/**
 * Metrics of `gwk worker`. Values read from Postgres are equal in all replicas: aggregate them with max. They are at
 * most 10 s old (1 minute if Postgres is slow), and NaN while Postgres does not answer.
 */
export const WORKER_METRICS = {
  attempts: counter({
    name: 'gwk_webhook_attempts_total',
    help: 'Webhook delivery attempts, by result.',
    labelNames: ['result'],
  }),
  latency: histogram({
    name: 'gwk_webhook_latency_seconds',
    help: 'Response time of webhook endpoints, by result of the delivery.',
    labelNames: ['result'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
  }),
  callsInFlight: gauge({
    name: 'gwk_webhook_calls_in_flight',
    help: 'Webhook calls in progress in this worker.',
  }),
  queueDeliveries: gauge({
    name: 'gwk_webhook_queue_deliveries',
    help: 'Unfinished deliveries: due, in progress, or waiting for their next attempt.',
  }),
  queueAge: gauge({
    name: 'gwk_webhook_queue_age_seconds',
    help: 'How overdue the oldest due delivery is, including deliveries in progress, for `healthy` and for `failing` endpoints. Disabled endpoints count as failing; the worker delays deliveries to failing endpoints.',
    labelNames: ['endpoint_state'],
  }),
  endpoints: gauge({
    name: 'gwk_webhook_endpoints',
    help: 'Webhook endpoints by state: enabled, failing (enabled, but the last call failed and deliveries wait), disabled by their owner, or disabled by gwk after repeated failures.',
    labelNames: ['state'],
  }),
  sendMessages: gauge({
    name: 'gwk_send_queue_messages',
    help: 'Outbound messages not sent yet, by state: scheduled, waiting, or claimed by an engine.',
    labelNames: ['state'],
  }),
  sendAge: gauge({
    name: 'gwk_send_queue_age_seconds',
    help: 'Longest time that a message has been next in its conversation while its instance is connected. Includes delays by the pacing of the policy.',
  }),
  sendStalledAge: gauge({
    name: 'gwk_send_stalled_age_seconds',
    help: 'Longest time that a connected instance with a due message has neither claimed nor sent a message. At most 1 hour; 0 if there is none. Suspended accounts do not count.',
  }),
  scheduledOverdue: gauge({
    name: 'gwk_scheduled_overdue_seconds',
    help: 'How overdue the oldest scheduled message is.',
  }),
  instances: gauge({
    name: 'gwk_instances',
    help: 'Instances by stored state.',
    labelNames: ['state'],
  }),
  instancesDown: gauge({
    name: 'gwk_instances_down',
    help: 'Instances without a connection for more than 5 minutes that should reconnect by themselves: not suspended, logged out or banned.',
  }),
  jobRuns: counter({
    name: 'gwk_worker_job_runs_total',
    help: 'Job runs of this worker, by result.',
    labelNames: ['job_name', 'result'],
  }),
  jobOverdue: gauge({
    name: 'gwk_worker_job_overdue_seconds',
    help: 'How overdue the next successful run of a job of this worker is. 0 while it is not due.',
    labelNames: ['job_name'],
  }),
  jobItems: counter({
    name: 'gwk_worker_job_items_total',
    help: 'Items that the jobs of this worker have processed: messages, rows, instances.',
    labelNames: ['job_name'],
  }),
  livenessReads: counter({
    name: 'gwk_availability_liveness_reads_total',
    help: 'Reads of engine liveness, from Prometheus or heartbeats, for engines that did not renew their lease, by result.',
    labelNames: ['source', 'result'],
  }),
  preparations: counter({
    name: 'gwk_preparations_total',
    help: 'Preparations of messages with files or previews, by result: prepared, retried, unavailable.',
    labelNames: ['result'],
  }),
  preparationAge: gauge({
    name: 'gwk_preparation_age_seconds',
    help: 'Age of the oldest message whose file is not prepared yet.',
  }),
  retentionOverdue: gauge({
    name: 'gwk_retention_overdue_seconds',
    help: 'How overdue the deletion of the oldest message content is.',
  }),
  partitionsExpired: gauge({
    name: 'gwk_partitions_expired',
    help: 'Daily partitions of messages, events and webhook deliveries that should have been dropped, summed over all tables.',
  }),
  databaseBytes: gauge({
    name: 'gwk_database_size_bytes',
    help: 'Size of the database, including indexes.',
  }),
} as const;
