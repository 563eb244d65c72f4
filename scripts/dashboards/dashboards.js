import { BYTES, dashboard, lines, NONE_IS_GOOD, number, PER_SECOND, quantile, SECONDS } from './grafana.js';

const OF = '{namespace=~"$namespace"}';
const of = (more) => `{namespace=~"$namespace",${more}}`;
/** Each replica of a gateway says the same of all of it; NaN, which is left out, where its Postgres does not answer. */
const total = (metric, selector = OF) => `sum(max by (namespace) (${metric}${selector}) >= 0)`;
const totalByState = (metric) => `sum by (state) (max by (namespace, state) (${metric}${OF}) >= 0)`;
/** In 15 minutes. A series begins with its first event, which increase() does not see. */
const grown = (counter) =>
  `(${counter} unless last_over_time(${counter}[15m] offset 15m)) or increase(${counter}[15m])`;
const namespaces = (metric) => ({
  name: 'namespace',
  label: 'Namespace',
  query: `label_values(${metric}, namespace)`,
  all: true,
  any: '.*',
});

const fleet = dashboard({
  uid: 'gwk-fleet',
  title: 'gwk: fleet',
  description: 'All numbers, the way of messages, and the programs that carry them.',
  variables: [namespaces('gwk_http_requests_in_flight')],
  rows: [
    [
      number('Connected', total('gwk_instances', of('state="connected"'))),
      number('Down for over 5 minutes', total('gwk_instances_down'), NONE_IS_GOOD),
      number('Banned', total('gwk_instances', of('state="banned"')), NONE_IS_GOOD),
      number('Oldest message that may leave', `max(gwk_send_queue_age_seconds${OF})`, SECONDS),
    ],
    [
      lines('Numbers by state', { '{{state}}': totalByState('gwk_instances') }),
      lines(
        'Messages',
        {
          accepted: `sum(rate(gwk_messages_accepted_total${OF}[5m]))`,
          '{{status}}': `sum by (status) (rate(gwk_message_statuses_total${OF}[5m]))`,
          received: `sum(rate(gwk_messages_received_total${OF}[5m]))`,
        },
        PER_SECOND,
      ),
      lines(
        'Failures by code',
        { '{{code}}': `sum by (code) (rate(gwk_message_statuses_total${of('status="failed"')}[5m]))` },
        PER_SECOND,
      ),
    ],
    [
      lines(
        'Accepted to sent',
        {
          p50: quantile(0.5, 'gwk_message_sent_seconds', OF),
          p99: quantile(0.99, 'gwk_message_sent_seconds', OF),
        },
        SECONDS,
      ),
      lines(
        'Sent to delivered',
        {
          p50: quantile(0.5, 'gwk_message_delivered_seconds', OF),
          p90: quantile(0.9, 'gwk_message_delivered_seconds', OF),
        },
        SECONDS,
      ),
      lines('Messages that have not left', {
        '{{state}}': totalByState('gwk_send_queue_messages'),
      }),
    ],
    [
      lines(
        'Requests by status',
        { '{{status}}': `sum by (status) (rate(gwk_http_request_duration_seconds_count${OF}[5m]))` },
        PER_SECOND,
      ),
      lines(
        'Time of requests',
        {
          p50: quantile(0.5, 'gwk_http_request_duration_seconds', OF),
          p99: quantile(0.99, 'gwk_http_request_duration_seconds', OF),
          'p99 of engines and operator': quantile(0.99, 'gwk_internal_call_duration_seconds', OF),
        },
        SECONDS,
      ),
      lines('Connections to Postgres', {
        '{{pod}} busy': `sum by (pod) (gwk_database_pool_connections${of('state="busy"')})`,
        '{{pod}} waiting': `sum by (pod) (gwk_database_pool_waiting${OF})`,
      }),
    ],
    [
      lines('Lost connections by reason', {
        // Of all namespaces: those of engines are not those of the API, by which one is chosen here.
        '{{reason}}': `sum by (reason) (${grown('gwk_engine_disconnections_total')})`,
      }),
      lines('Engines by phase of their pod', { '{{phase}}': `sum by (phase) (gwk_operator_pods${OF})` }),
      lines('Operator', {
        'Instances waiting': total('gwk_operator_queue_depth'),
        leaders: `sum(gwk_operator_leader${OF})`,
        'engines waiting for an upgrade': total('gwk_operator_rollout', of('state="waiting"')),
      }),
    ],
    [
      lines('Redis answers in', { '{{pod}}': `max by (pod) (gwk_redis_ping_seconds${OF})` }, SECONDS),
      lines('Database', { size: total('gwk_database_size_bytes') }, BYTES),
      lines('Content beyond its time', { late: `max(gwk_retention_overdue_seconds${OF})` }, SECONDS),
      lines('Days beyond their time', { 'to be dropped': total('gwk_partitions_expired') }),
    ],
  ],
});

const OWN = '{namespace=~"$namespace",pod=~"$pod"}';
const NAMED = '{namespace=~"$namespace",pod=~"$pod",instance_id=~"$instance_id"}';
/**
 * Of series that do not name their number: those of the pods that did just now. A name of a pod is that of another
 * number, too, in another namespace.
 */
const ITS = ` and on (namespace, pod, instance) last_over_time(gwk_instance_connected${NAMED}[15m])`;

const instance = dashboard({
  uid: 'gwk-instance',
  title: 'gwk: one number',
  description: 'What the engine of one number does.',
  variables: [
    namespaces('gwk_instance_connected'),
    {
      name: 'instance_id',
      label: 'Instance',
      query: 'label_values(gwk_instance_connected{namespace=~"$namespace"}, instance_id)',
    },
    {
      name: 'pod',
      label: 'Pod',
      query: 'label_values(gwk_instance_connected{namespace=~"$namespace",instance_id=~"$instance_id"}, pod)',
      all: true,
    },
  ],
  rows: [
    [
      number('Connected', `max(gwk_instance_connected${NAMED})`),
      number('Lease ends in', `max(gwk_engine_lease_seconds${OWN}${ITS})`, SECONDS),
      number('Messages in hand', `sum(gwk_engine_held_messages${OWN}${ITS})`),
      number('Resident memory', `max(process_resident_memory_bytes${OWN}${ITS})`, BYTES),
    ],
    [
      lines('State', { '{{state}}': `max by (state) (gwk_instance_state${NAMED})` }, { max: 1, min: 0 }),
      lines('Lost connections by reason', {
        '{{reason}}': `sum by (reason) ((${grown(`gwk_engine_disconnections_total${OWN}`)})${ITS})`,
      }),
    ],
    [
      lines(
        'Messages by how they ended here',
        { '{{result}}': `sum by (result) (rate(gwk_engine_messages_total${OWN}[5m])${ITS})` },
        PER_SECOND,
      ),
      lines(
        'Claim to conclusion',
        {
          p50: quantile(0.5, 'gwk_engine_message_seconds', OWN, ITS),
          p99: quantile(0.99, 'gwk_engine_message_seconds', OWN, ITS),
        },
        SECONDS,
      ),
      lines('Sent again for want of an answer', {
        doubts: `sum(increase(gwk_engine_resends_total${OWN}[15m])${ITS})`,
      }),
    ],
    [
      lines('Lanes in use', { lanes: `max(gwk_engine_active_conversations${OWN}${ITS})` }),
      lines(
        'Bells of Redis heard after',
        {
          p50: quantile(0.5, 'gwk_engine_notify_seconds', OWN, ITS),
          p99: quantile(0.99, 'gwk_engine_notify_seconds', OWN, ITS),
        },
        SECONDS,
      ),
      lines('Received', { messages: `sum(rate(gwk_engine_received_total${OWN}[5m])${ITS})` }, PER_SECOND),
      lines(
        'Keys stored in',
        {
          p50: quantile(0.5, 'gwk_engine_session_write_seconds', OWN, ITS),
          p99: quantile(0.99, 'gwk_engine_session_write_seconds', OWN, ITS),
        },
        SECONDS,
      ),
      lines(
        'Resident memory',
        { '{{pod}}': `max by (pod) (process_resident_memory_bytes${OWN}${ITS})` },
        BYTES,
      ),
    ],
  ],
});

const webhooks = dashboard({
  uid: 'gwk-webhooks',
  title: 'gwk: webhooks',
  description: 'Deliveries, their destinations, and the worker that makes them.',
  variables: [namespaces('gwk_webhook_calls_in_flight')],
  rows: [
    [
      number('Late by', `max(gwk_webhook_queue_age_seconds${of('endpoint="healthy"')})`, SECONDS),
      number('Not ended', total('gwk_webhook_queue_deliveries')),
      number('Failing', total('gwk_webhook_endpoints', of('state="failing"')), NONE_IS_GOOD),
      number('Disabled by gwk', total('gwk_webhook_endpoints', of('state="disabled_by_gwk"')), NONE_IS_GOOD),
    ],
    [
      lines(
        'Attempts',
        { '{{result}}': `sum by (result) (rate(gwk_webhook_attempts_total${OF}[5m]))` },
        PER_SECOND,
      ),
      lines(
        'Destinations answer in',
        {
          p50: quantile(0.5, 'gwk_webhook_latency_seconds', OF),
          p90: quantile(0.9, 'gwk_webhook_latency_seconds', OF),
          p99: quantile(0.99, 'gwk_webhook_latency_seconds', OF),
        },
        SECONDS,
      ),
    ],
    [
      lines('Backlog', { deliveries: total('gwk_webhook_queue_deliveries') }),
      lines(
        'Late by',
        { '{{endpoint}}': `max by (endpoint) (gwk_webhook_queue_age_seconds${OF})` },
        SECONDS,
      ),
      lines('Calls in flight', { '{{pod}}': `sum by (pod) (gwk_webhook_calls_in_flight${OF})` }),
    ],
    [
      lines('Destinations', { '{{state}}': totalByState('gwk_webhook_endpoints') }),
      lines('Loops that failed', {
        '{{job}}': `sum by (job) (increase(gwk_worker_job_runs_total${of('result="error"')}[15m]))`,
        '{{job}} of {{pod}} overdue (s)': `max by (job, pod) (gwk_worker_job_overdue_seconds${OF}) > 60`,
      }),
      lines('Files', {
        '{{result}}': `sum by (result) (rate(gwk_preparations_total${OF}[5m]))`,
        'oldest waits (s)': `max(gwk_preparation_age_seconds${OF})`,
        'scheduled ones late by (s)': `max(gwk_scheduled_overdue_seconds${OF})`,
      }),
    ],
  ],
});

/** By the name of their file in charts/gwk/dashboards. */
export const DASHBOARDS = { fleet, instance, webhooks };
