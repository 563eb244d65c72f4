import { BYTES, dashboard, PER_SECOND, quantile, RED_FROM_1, SECONDS, stat, timeseries } from './grafana.js';

const IN_NAMESPACE = '{namespace=~"$namespace"}';
const inNamespace = (more) => `{namespace=~"$namespace",${more}}`;
/** Every replica exports the value of its whole gateway. `>= 0` removes NaN, which means that Postgres is unavailable. */
const total = (metric, selector = IN_NAMESPACE) => `sum(max by (namespace) (${metric}${selector}) >= 0)`;
const totalByState = (metric) => `sum by (state) (max by (namespace, state) (${metric}${IN_NAMESPACE}) >= 0)`;
/** Increase over 15 minutes, including the first event of a series, which increase() does not see. */
const increaseOf = (counter) =>
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
  description: 'All instances, message flow, and the programs of the gateway.',
  variables: [namespaces('gwk_http_requests_in_flight')],
  rows: [
    [
      stat('Connected instances', total('gwk_instances', inNamespace('state="connected"'))),
      stat('Offline for over 5 minutes', total('gwk_instances_down'), RED_FROM_1),
      stat('Banned instances', total('gwk_instances', inNamespace('state="banned"')), RED_FROM_1),
      stat('Oldest message ready to send', `max(gwk_send_queue_age_seconds${IN_NAMESPACE})`, SECONDS),
    ],
    [
      timeseries('Instances by state', { '{{state}}': totalByState('gwk_instances') }),
      timeseries(
        'Messages per second',
        {
          accepted: `sum(rate(gwk_messages_accepted_total${IN_NAMESPACE}[5m]))`,
          '{{status}}': `sum by (status) (rate(gwk_message_statuses_total${IN_NAMESPACE}[5m]))`,
          received: `sum(rate(gwk_messages_received_total${IN_NAMESPACE}[5m]))`,
        },
        PER_SECOND,
      ),
      timeseries(
        'Failures by code',
        {
          '{{code}}': `sum by (code) (rate(gwk_message_statuses_total${inNamespace('status="failed"')}[5m]))`,
        },
        PER_SECOND,
      ),
    ],
    [
      timeseries(
        'Time from accepted to sent',
        {
          p50: quantile(0.5, 'gwk_message_sent_seconds', IN_NAMESPACE),
          p99: quantile(0.99, 'gwk_message_sent_seconds', IN_NAMESPACE),
        },
        SECONDS,
      ),
      timeseries(
        'Time from sent to delivered',
        {
          p50: quantile(0.5, 'gwk_message_delivered_seconds', IN_NAMESPACE),
          p90: quantile(0.9, 'gwk_message_delivered_seconds', IN_NAMESPACE),
        },
        SECONDS,
      ),
      timeseries('Send queue', {
        '{{state}}': totalByState('gwk_send_queue_messages'),
      }),
    ],
    [
      timeseries(
        'Requests by status',
        {
          '{{status}}': `sum by (status) (rate(gwk_http_request_duration_seconds_count${IN_NAMESPACE}[5m]))`,
        },
        PER_SECOND,
      ),
      timeseries(
        'Request duration',
        {
          p50: quantile(0.5, 'gwk_http_request_duration_seconds', IN_NAMESPACE),
          p99: quantile(0.99, 'gwk_http_request_duration_seconds', IN_NAMESPACE),
          'p99 internal API': quantile(0.99, 'gwk_internal_call_duration_seconds', IN_NAMESPACE),
        },
        SECONDS,
      ),
      timeseries('Connections to Postgres', {
        '{{pod}} busy': `sum by (pod) (gwk_database_pool_connections${inNamespace('state="busy"')})`,
        '{{pod}} waiting': `sum by (pod) (gwk_database_pool_waiting${IN_NAMESPACE})`,
      }),
    ],
    [
      timeseries('Lost connections by reason', {
        // Without a namespace filter: the variable lists namespaces of the API, and engines may run in others.
        '{{reason}}': `sum by (reason) (${increaseOf('gwk_engine_disconnections_total')})`,
      }),
      timeseries('Engine pods by phase', {
        '{{phase}}': `sum by (phase) (gwk_operator_pods${IN_NAMESPACE})`,
      }),
      timeseries('Operator', {
        'Instances in the queue': total('gwk_operator_queue_depth'),
        Leaders: `sum(gwk_operator_leader${IN_NAMESPACE})`,
        'Engines waiting for an upgrade': total('gwk_operator_rollout', inNamespace('state="waiting"')),
      }),
    ],
    [
      timeseries(
        'Redis write latency',
        { '{{pod}}': `max by (pod) (gwk_redis_ping_seconds${IN_NAMESPACE})` },
        SECONDS,
      ),
      timeseries('Database size', { size: total('gwk_database_size_bytes') }, BYTES),
      timeseries(
        'Message content past retention',
        { overdue: `max(gwk_retention_overdue_seconds${IN_NAMESPACE})` },
        SECONDS,
      ),
      timeseries('Expired partitions', { 'not dropped': total('gwk_partitions_expired') }),
    ],
  ],
});

const IN_POD = '{namespace=~"$namespace",pod=~"$pod"}';
const IN_INSTANCE = '{namespace=~"$namespace",pod=~"$pod",instance_id=~"$instance_id"}';
/**
 * Restricts series without instance_id to pods that exported the selected instance in the last 15 minutes. A pod of the
 * same name may run another instance in another namespace.
 */
const AND_INSTANCE = ` and on (namespace, pod, instance) last_over_time(gwk_instance_connected${IN_INSTANCE}[15m])`;

const instance = dashboard({
  uid: 'gwk-instance',
  title: 'gwk: instance',
  description: 'The engine of one instance.',
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
      stat('Connected', `max(gwk_instance_connected${IN_INSTANCE})`),
      stat('Lease remaining', `max(gwk_engine_lease_seconds${IN_POD}${AND_INSTANCE})`, SECONDS),
      stat('Claimed messages', `sum(gwk_engine_held_messages${IN_POD}${AND_INSTANCE})`),
      stat('Resident memory', `max(process_resident_memory_bytes${IN_POD}${AND_INSTANCE})`, BYTES),
    ],
    [
      timeseries(
        'State',
        { '{{state}}': `max by (state) (gwk_instance_state${IN_INSTANCE})` },
        { max: 1, min: 0 },
      ),
      timeseries('Lost connections by reason', {
        '{{reason}}': `sum by (reason) ((${increaseOf(`gwk_engine_disconnections_total${IN_POD}`)})${AND_INSTANCE})`,
      }),
    ],
    [
      timeseries(
        'Messages by result',
        { '{{result}}': `sum by (result) (rate(gwk_engine_messages_total${IN_POD}[5m])${AND_INSTANCE})` },
        PER_SECOND,
      ),
      timeseries(
        'Time from claim to result',
        {
          p50: quantile(0.5, 'gwk_engine_message_seconds', IN_POD, AND_INSTANCE),
          p99: quantile(0.99, 'gwk_engine_message_seconds', IN_POD, AND_INSTANCE),
        },
        SECONDS,
      ),
      timeseries('Resends without acknowledgement', {
        resends: `sum(increase(gwk_engine_resends_total${IN_POD}[15m])${AND_INSTANCE})`,
      }),
    ],
    [
      timeseries('Active conversations', {
        conversations: `max(gwk_engine_active_conversations${IN_POD}${AND_INSTANCE})`,
      }),
      timeseries(
        'Redis notification latency',
        {
          p50: quantile(0.5, 'gwk_engine_notify_seconds', IN_POD, AND_INSTANCE),
          p99: quantile(0.99, 'gwk_engine_notify_seconds', IN_POD, AND_INSTANCE),
        },
        SECONDS,
      ),
      timeseries(
        'Received messages',
        { messages: `sum(rate(gwk_engine_received_total${IN_POD}[5m])${AND_INSTANCE})` },
        PER_SECOND,
      ),
      timeseries(
        'Session write duration',
        {
          p50: quantile(0.5, 'gwk_engine_session_write_seconds', IN_POD, AND_INSTANCE),
          p99: quantile(0.99, 'gwk_engine_session_write_seconds', IN_POD, AND_INSTANCE),
        },
        SECONDS,
      ),
      timeseries(
        'Resident memory',
        { '{{pod}}': `max by (pod) (process_resident_memory_bytes${IN_POD}${AND_INSTANCE})` },
        BYTES,
      ),
    ],
  ],
});

const webhooks = dashboard({
  uid: 'gwk-webhooks',
  title: 'gwk: webhooks',
  description: 'Webhook deliveries, their endpoints, and the jobs of the worker.',
  variables: [namespaces('gwk_webhook_calls_in_flight')],
  rows: [
    [
      stat(
        'Oldest due delivery',
        `max(gwk_webhook_queue_age_seconds${inNamespace('endpoint_state="healthy"')})`,
        SECONDS,
      ),
      stat('Open deliveries', total('gwk_webhook_queue_deliveries')),
      stat('Failing endpoints', total('gwk_webhook_endpoints', inNamespace('state="failing"')), RED_FROM_1),
      stat(
        'Endpoints disabled by gwk',
        total('gwk_webhook_endpoints', inNamespace('state="disabled_by_gwk"')),
        RED_FROM_1,
      ),
    ],
    [
      timeseries(
        'Attempts by result',
        { '{{result}}': `sum by (result) (rate(gwk_webhook_attempts_total${IN_NAMESPACE}[5m]))` },
        PER_SECOND,
      ),
      timeseries(
        'Endpoint latency',
        {
          p50: quantile(0.5, 'gwk_webhook_latency_seconds', IN_NAMESPACE),
          p90: quantile(0.9, 'gwk_webhook_latency_seconds', IN_NAMESPACE),
          p99: quantile(0.99, 'gwk_webhook_latency_seconds', IN_NAMESPACE),
        },
        SECONDS,
      ),
    ],
    [
      timeseries('Backlog', { deliveries: total('gwk_webhook_queue_deliveries') }),
      timeseries(
        'Oldest due delivery by endpoint state',
        { '{{endpoint_state}}': `max by (endpoint_state) (gwk_webhook_queue_age_seconds${IN_NAMESPACE})` },
        SECONDS,
      ),
      timeseries('Calls in flight', {
        '{{pod}}': `sum by (pod) (gwk_webhook_calls_in_flight${IN_NAMESPACE})`,
      }),
    ],
    [
      timeseries('Endpoints by state', { '{{state}}': totalByState('gwk_webhook_endpoints') }),
      timeseries('Worker jobs that failed or are overdue', {
        '{{job_name}} failures': `sum by (job_name) (increase(gwk_worker_job_runs_total${inNamespace('result="error"')}[15m]))`,
        '{{job_name}} of {{pod}} overdue (s)': `max by (job_name, pod) (gwk_worker_job_overdue_seconds${IN_NAMESPACE}) > 60`,
      }),
      timeseries('Media preparation and schedules', {
        '{{result}}': `sum by (result) (rate(gwk_preparations_total${IN_NAMESPACE}[5m]))`,
        'oldest preparation (s)': `max(gwk_preparation_age_seconds${IN_NAMESPACE})`,
        'oldest scheduled message (s)': `max(gwk_scheduled_overdue_seconds${IN_NAMESPACE})`,
      }),
    ],
  ],
});

/** Dashboards by file name in charts/gwk/dashboards. */
export const DASHBOARDS = { fleet, instance, webhooks };
