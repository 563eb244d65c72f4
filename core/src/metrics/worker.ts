import { counter, gauge, histogram } from './metric.js';

/**
 * Metrics of `gwk worker`. Values read from Postgres are equal in all replicas: aggregate them with max. They are at
 * most 10 s old (1 minute if Postgres is slow), and NaN while Postgres does not answer.
 */
export const WORKER_METRICS = {
  attempts: counter('gwk_webhook_attempts_total', 'Webhook delivery attempts, by result.', ['result']),
  latency: histogram(
    'gwk_webhook_latency_seconds',
    'Response time of webhook endpoints, by result of the delivery.',
    [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    ['result'],
  ),
  callsInFlight: gauge('gwk_webhook_calls_in_flight', 'Webhook calls in progress in this worker.'),
  queueDeliveries: gauge(
    'gwk_webhook_queue_deliveries',
    'Unfinished deliveries: due, in progress, or waiting for their next attempt.',
  ),
  queueAge: gauge(
    'gwk_webhook_queue_age_seconds',
    'How overdue the oldest due delivery is, including deliveries in progress, for `healthy` and for `failing` endpoints. Disabled endpoints count as failing; the worker delays deliveries to failing endpoints.',
    ['endpoint_state'],
  ),
  endpoints: gauge(
    'gwk_webhook_endpoints',
    'Webhook endpoints by state: enabled, failing (enabled, but the last call failed and deliveries wait), disabled by their owner, or disabled by gwk after repeated failures.',
    ['state'],
  ),
  sendMessages: gauge(
    'gwk_send_queue_messages',
    'Outbound messages not sent yet, by state: scheduled, waiting, or claimed by an engine.',
    ['state'],
  ),
  sendAge: gauge(
    'gwk_send_queue_age_seconds',
    'Longest time that a message has been next in its conversation while its instance is connected. Includes delays by the pacing of the policy.',
  ),
  sendStalledAge: gauge(
    'gwk_send_stalled_age_seconds',
    'Longest time that a connected instance with a due message has neither claimed nor sent a message. At most 1 hour; 0 if there is none. Suspended accounts do not count.',
  ),
  scheduledOverdue: gauge('gwk_scheduled_overdue_seconds', 'How overdue the oldest scheduled message is.'),
  instances: gauge('gwk_instances', 'Instances by stored state.', ['state']),
  instancesDown: gauge(
    'gwk_instances_down',
    'Instances without a connection for more than 5 minutes that should reconnect by themselves: not suspended, logged out or banned.',
  ),
  alerts: counter('gwk_alerts_total', 'Alerts to contacts of accounts, by result: sent, retried, failed.', [
    'channel',
    'result',
  ]),
  jobRuns: counter('gwk_worker_job_runs_total', 'Job runs of this worker, by result.', [
    'job_name',
    'result',
  ]),
  jobOverdue: gauge(
    'gwk_worker_job_overdue_seconds',
    'How overdue the next successful run of a job of this worker is. 0 while it is not due.',
    ['job_name'],
  ),
  jobItems: counter(
    'gwk_worker_job_items_total',
    'Items that the jobs of this worker have processed: messages, rows, instances.',
    ['job_name'],
  ),
  livenessReads: counter(
    'gwk_availability_liveness_reads_total',
    'Reads of engine liveness, from Prometheus or heartbeats, for engines that did not renew their lease, by result.',
    ['source', 'result'],
  ),
  preparations: counter(
    'gwk_preparations_total',
    'Preparations of messages with files or previews, by result: prepared, retried, unavailable.',
    ['result'],
  ),
  decodingSeconds: counter(
    'gwk_decoding_seconds_total',
    'Time that decoders of this worker were in use, by the budget of the account: within, exceeded. The log names accounts that exceed it.',
    ['budget'],
  ),
  decoderUp: gauge(
    'gwk_decoder_up',
    '1 if the decoder of this worker answers. Without a decoder, messages with files and link previews wait, and fail after 15 minutes.',
  ),
  preparationAge: gauge(
    'gwk_preparation_age_seconds',
    'Age of the oldest message whose file is not prepared yet.',
  ),
  accountUsage: gauge(
    'gwk_account_usage_ratio',
    'Stored amount of an account as a part of its limit, by `resource` (media_bytes, media_files, event_bytes). Only the 20 highest from 0.8 on.',
    ['account', 'resource'],
  ),
  retentionOverdue: gauge(
    'gwk_retention_overdue_seconds',
    'How overdue the deletion of the oldest message content is.',
  ),
  partitionsExpired: gauge(
    'gwk_partitions_expired',
    'Daily partitions of messages, events and webhook deliveries that should have been dropped, summed over all tables.',
  ),
  eventsHeld: gauge(
    'gwk_events_held_seconds',
    'Time for which this worker has seen the oldest writing transaction of the Postgres server, of any database. Event streams and `GET /v1/events?after=` show nothing newer until it ends. 0: none.',
  ),
  clientVersions: gauge(
    'gwk_client_version_info',
    '1 for the client version of each kind: bundled (of this worker), served (by the network), pinned. The metric of engines shows the versions in use.',
    ['kind', 'version'],
  ),
  clientVersionReadAge: gauge(
    'gwk_client_version_read_age_seconds',
    'Time since the last good read of the served client version, or since the migration of the database if there was none. NaN if workers do not read it, as without numbers.',
  ),
  clientVersionReads: counter(
    'gwk_client_version_reads_total',
    'Reads of the served client version by this worker, by result: ok, or the fault.',
    ['result'],
  ),
  clientVersionBehind: gauge(
    'gwk_client_version_behind_seconds',
    'How far a client version is behind the served one: the age of the bundled one (of this worker) while the network serves a newer one, and an estimate for the pinned one. 0: not behind.',
    ['kind'],
  ),
  databaseBytes: gauge('gwk_database_size_bytes', 'Size of the database, including indexes.'),
} as const;
