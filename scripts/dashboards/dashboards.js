import { BYTES, dashboard, lines, NONE_IS_GOOD, number, PER_SECOND, quantile, SECONDS } from './grafana.js';

const OF = '{namespace=~"$namespace"}';
const of = (more) => `{namespace=~"$namespace",${more}}`;
/** Every replica exports the value of its whole gateway. `>= 0` removes NaN, which means that Postgres is unavailable. */
const total = (metric, selector = OF) => `sum(max by (namespace) (${metric}${selector}) >= 0)`;
const totalByState = (metric) => `sum by (state) (max by (namespace, state) (${metric}${OF}) >= 0)`;
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
      number('Connected instances', total('gwk_instances', of('state="connected"'))),
      number('Offline for over 5 minutes', total('gwk_instances_down'), NONE_IS_GOOD),
      number('Banned instances', total('gwk_instances', of('state="banned"')), NONE_IS_GOOD),
      number('Oldest message ready to send', `max(gwk_send_queue_age_seconds${OF})`, SECONDS),
    ],
    [
      lines('Instances by state', { '{{state}}': totalByState('gwk_instances') }),
      lines(
        'Messages per second',
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
        'Time from accepted to sent',
        {
          p50: quantile(0.5, 'gwk_message_sent_seconds', OF),
          p99: quantile(0.99, 'gwk_message_sent_seconds', OF),
        },
        SECONDS,
      ),
      lines(
        'Time from sent to delivered',
        {
          p50: quantile(0.5, 'gwk_message_delivered_seconds', OF),
          p90: quantile(0.9, 'gwk_message_delivered_seconds', OF),
        },
        SECONDS,
      ),
      lines('Send queue', {
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
        'Request duration',
        {
          p50: quantile(0.5, 'gwk_http_request_duration_seconds', OF),
          p99: quantile(0.99, 'gwk_http_request_duration_seconds', OF),
          'p99 internal API': quantile(0.99, 'gwk_internal_call_duration_seconds', OF),
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
        // Without a namespace filter: the variable lists namespaces of the API, and engines may run in others.
        '{{reason}}': `sum by (reason) (${increaseOf('gwk_engine_disconnections_total')})`,
      }),
      lines('Engine pods by phase', { '{{phase}}': `sum by (phase) (gwk_operator_pods${OF})` }),
      lines('Operator', {
        'Instances in the queue': total('gwk_operator_queue_depth'),
        Leaders: `sum(gwk_operator_leader${OF})`,
        'Engines waiting for an upgrade': total('gwk_operator_rollout', of('state="waiting"')),
      }),
    ],
    [
      lines('Redis write latency', { '{{pod}}': `max by (pod) (gwk_redis_ping_seconds${OF})` }, SECONDS),
      lines('Database size', { size: total('gwk_database_size_bytes') }, BYTES),
      lines(
        'Message content past retention',
        { overdue: `max(gwk_retention_overdue_seconds${OF})` },
        SECONDS,
      ),
      lines('Expired partitions', { 'not dropped': total('gwk_partitions_expired') }),
    ],
  ],
});

const OWN = '{namespace=~"$namespace",pod=~"$pod"}';
const NAMED = '{namespace=~"$namespace",pod=~"$pod",instance_id=~"$instance_id"}';
/**
 * Restricts series without instance_id to pods that exported the selected instance in the last 15 minutes. A pod of the
 * same name may run another instance in another namespace.
 */
const ITS = ` and on (namespace, pod, instance) last_over_time(gwk_instance_connected${NAMED}[15m])`;

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
      number('Connected', `max(gwk_instance_connected${NAMED})`),
      number('Lease remaining', `max(gwk_engine_lease_seconds${OWN}${ITS})`, SECONDS),
      number('Claimed messages', `sum(gwk_engine_held_messages${OWN}${ITS})`),
      number('Resident memory', `max(process_resident_memory_bytes${OWN}${ITS})`, BYTES),
    ],
    [
      lines('State', { '{{state}}': `max by (state) (gwk_instance_state${NAMED})` }, { max: 1, min: 0 }),
      lines('Lost connections by reason', {
        '{{reason}}': `sum by (reason) ((${increaseOf(`gwk_engine_disconnections_total${OWN}`)})${ITS})`,
      }),
    ],
    [
      lines(
        'Messages by result',
        { '{{result}}': `sum by (result) (rate(gwk_engine_messages_total${OWN}[5m])${ITS})` },
        PER_SECOND,
      ),
      lines(
        'Time from claim to result',
        {
          p50: quantile(0.5, 'gwk_engine_message_seconds', OWN, ITS),
          p99: quantile(0.99, 'gwk_engine_message_seconds', OWN, ITS),
        },
        SECONDS,
      ),
      lines('Resends without acknowledgement', {
        resends: `sum(increase(gwk_engine_resends_total${OWN}[15m])${ITS})`,
      }),
    ],
    [
      lines('Active conversations', { conversations: `max(gwk_engine_active_conversations${OWN}${ITS})` }),
      lines(
        'Redis notification latency',
        {
          p50: quantile(0.5, 'gwk_engine_notify_seconds', OWN, ITS),
          p99: quantile(0.99, 'gwk_engine_notify_seconds', OWN, ITS),
        },
        SECONDS,
      ),
      lines(
        'Received messages',
        { messages: `sum(rate(gwk_engine_received_total${OWN}[5m])${ITS})` },
        PER_SECOND,
      ),
      lines(
        'Session write duration',
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
  description: 'Webhook deliveries, their endpoints, and the jobs of the worker.',
  variables: [namespaces('gwk_webhook_calls_in_flight')],
  rows: [
    [
      number(
        'Oldest due delivery',
        `max(gwk_webhook_queue_age_seconds${of('endpoint_state="healthy"')})`,
        SECONDS,
      ),
      number('Open deliveries', total('gwk_webhook_queue_deliveries')),
      number('Failing endpoints', total('gwk_webhook_endpoints', of('state="failing"')), NONE_IS_GOOD),
      number(
        'Endpoints disabled by gwk',
        total('gwk_webhook_endpoints', of('state="disabled_by_gwk"')),
        NONE_IS_GOOD,
      ),
    ],
    [
      lines(
        'Attempts by result',
        { '{{result}}': `sum by (result) (rate(gwk_webhook_attempts_total${OF}[5m]))` },
        PER_SECOND,
      ),
      lines(
        'Endpoint latency',
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
        'Oldest due delivery by endpoint state',
        { '{{endpoint_state}}': `max by (endpoint_state) (gwk_webhook_queue_age_seconds${OF})` },
        SECONDS,
      ),
      lines('Calls in flight', { '{{pod}}': `sum by (pod) (gwk_webhook_calls_in_flight${OF})` }),
    ],
    [
      lines('Endpoints by state', { '{{state}}': totalByState('gwk_webhook_endpoints') }),
      lines('Worker jobs that failed or are overdue', {
        '{{job_name}} failures': `sum by (job_name) (increase(gwk_worker_job_runs_total${of('result="error"')}[15m]))`,
        '{{job_name}} of {{pod}} overdue (s)': `max by (job_name, pod) (gwk_worker_job_overdue_seconds${OF}) > 60`,
      }),
      lines('Media preparation and schedules', {
        '{{result}}': `sum by (result) (rate(gwk_preparations_total${OF}[5m]))`,
        'oldest preparation (s)': `max(gwk_preparation_age_seconds${OF})`,
        'oldest scheduled message (s)': `max(gwk_scheduled_overdue_seconds${OF})`,
      }),
    ],
  ],
});

/** Dashboards by file name in charts/gwk/dashboards. */
export const DASHBOARDS = { fleet, instance, webhooks };
