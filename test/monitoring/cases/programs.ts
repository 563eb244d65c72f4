import { quiet, type AlertCase } from './alert-case.js';

const DAY_S = 86_400;

/** Postgres is unavailable from the 5th minute to the 35th. */
const OUTAGE = {
  'gwk_database_size_bytes{pod="w1"}': `1000x4 ${'NaN '.repeat(30)}1000x30`,
  'gwk_worker_job_runs_total{pod="w1",job_name="release",result="error"}': '0x4 0+6x30 180x30',
  'gwk_worker_job_overdue_seconds{pod="w1",job_name="release"}': '0x4 0+60x30 0x30',
};

const DATABASE = 'gwk_database_size_bytes{pod="w"}';
const POSTGRES = { [DATABASE]: '1000x40' };
const WORKER = { 'gwk_ready{pod="w"}': '1x40' };
const ready = (pod: string, values: string) => ({
  [`gwk_ready{pod="${pod}"}`]: values,
  [`gwk_http_requests_in_flight{pod="${pod}"}`]: values.replaceAll('1', '0'),
});

export const PROGRAMS: AlertCase[] = [
  {
    name: 'a job of one of two workers hangs',
    alert: 'GwkWorkerJobStuck',
    series: {
      'gwk_worker_job_overdue_seconds{pod="w1",job_name="release"}': '0 0+60x30',
      'gwk_worker_job_overdue_seconds{pod="w2",job_name="release"}': '0x31',
    },
    at: '18m',
    fires: [
      {
        labels: { pod: 'w1', job_name: 'release' },
        description: 'Job release of w1 is 17m 0s overdue.',
      },
    ],
  },
  {
    name: 'one run of a job takes ten minutes',
    alert: 'GwkWorkerJobStuck',
    series: { 'gwk_worker_job_overdue_seconds{pod="w1",job_name="partitions"}': '0+60x10 0x20' },
    at: '14m',
    ...quiet,
  },
  {
    name: 'an engine became unresponsive, and Prometheus did not answer the worker',
    alert: 'GwkLivenessUnreadable',
    series: {
      'gwk_availability_liveness_reads_total{source="prometheus",result="error"}': '0x10 1x30',
      'gwk_availability_liveness_reads_total{source="prometheus",result="ok"}': '0x41',
    },
    at: '30m',
    fires: [
      {
        labels: { source: 'prometheus' },
        description:
          'Workers cannot read prometheus. Outages of unresponsive engines start at their last lease renewal, up to 10 s too early.',
      },
    ],
  },
  {
    name: 'one read failed, and others succeeded',
    alert: 'GwkLivenessUnreadable',
    series: {
      'gwk_availability_liveness_reads_total{source="prometheus",result="error"}': '0x10 1x30',
      'gwk_availability_liveness_reads_total{source="prometheus",result="ok"}': '0x20 1x20',
    },
    at: '40m',
    ...quiet,
  },
  {
    name: 'Prometheus reaches no API replica',
    alert: 'GwkApiDown',
    series: { 'gwk_http_requests_in_flight{pod="a"}': '1 1 _x20' },
    at: '15m',
    fires: [
      {
        description: 'If the API is down, it accepts no messages, and engine leases end within a minute.',
      },
    ],
  },
  {
    name: 'Prometheus reaches one of two API replicas',
    alert: 'GwkApiDown',
    series: {
      'gwk_http_requests_in_flight{pod="a"}': '1 _x20',
      'gwk_http_requests_in_flight{pod="b"}': '1x20',
    },
    at: '15m',
    ...quiet,
  },
  {
    name: 'only the API cannot reach Postgres',
    alert: 'GwkApiNotReady',
    series: { ...ready('a', '1 0x20'), ...ready('b', '1 0x20'), ...WORKER, ...POSTGRES },
    at: '8m',
    fires: [
      {
        description:
          'The replicas run but receive no requests: no messages are accepted, and engines cannot report.',
      },
    ],
  },
  {
    name: 'one of two API replicas and a worker are not ready',
    alert: 'GwkApiNotReady',
    series: { ...ready('a', '0x20'), ...ready('b', '1x20'), 'gwk_ready{pod="w"}': '0x20', ...POSTGRES },
    at: '15m',
    ...quiet,
  },
  {
    name: 'the only replica is replaced',
    alert: 'GwkApiNotReady',
    series: { ...ready('a', '1 0 0 _x20'), ...ready('b', '_ _ 0 0 1x20'), ...WORKER, ...POSTGRES },
    at: '4m',
    ...quiet,
  },
  ...['4m', '12m', '34m'].map((at) => ({
    name: `Postgres is unavailable for all programs, after ${at}`,
    alert: 'GwkApiNotReady',
    series: {
      ...ready('a', '1 0x40'),
      'gwk_ready{pod="w"}': '1 0x40',
      [DATABASE]: `1000 ${'NaN '.repeat(40)}`,
    },
    at,
    ...quiet,
  })),
  {
    name: 'one request in ten is a 503',
    alert: 'GwkApiErrors',
    series: {
      'gwk_http_request_duration_seconds_count{operation="send",status="202"}': '0+900x20',
      'gwk_http_request_duration_seconds_count{operation="send",status="503"}': '0+100x20',
    },
    at: '15m',
    fires: [{ description: '10% of the requests return 5xx.' }],
  },
  {
    name: 'most requests are invalid',
    alert: 'GwkApiErrors',
    series: {
      'gwk_http_request_duration_seconds_count{operation="send",status="202"}': '0+10x20',
      'gwk_http_request_duration_seconds_count{operation="send",status="422"}': '0+900x20',
    },
    at: '15m',
    ...quiet,
  },
  {
    name: 'both of two requests a minute fail',
    alert: 'GwkApiErrors',
    series: { 'gwk_http_request_duration_seconds_count{operation="send",status="500"}': '0+2x30' },
    at: '25m',
    fires: [{ description: '100% of the requests return 5xx.' }],
  },
  {
    name: 'one client repeats a failing request at low traffic',
    alert: 'GwkApiErrors',
    series: {
      'gwk_http_request_duration_seconds_count{operation="send",status="202"}': '0+2x20',
      'gwk_http_request_duration_seconds_count{operation="presence",status="503"}': '0+1x20',
    },
    at: '15m',
    ...quiet,
  },
  {
    name: 'Prometheus reaches no worker',
    alert: 'GwkWorkerDown',
    series: { 'gwk_worker_job_runs_total{pod="w",job_name="resend",result="ok"}': '1 2 _x20' },
    at: '15m',
    fires: [
      {
        description:
          'Without workers, webhooks, media, schedules and retention stop. Messages without media still leave.',
      },
    ],
  },
  {
    name: 'Prometheus reaches one of two workers',
    alert: 'GwkWorkerDown',
    series: {
      'gwk_worker_job_runs_total{pod="w1",job_name="resend",result="ok"}': '1 2 _x20',
      'gwk_worker_job_runs_total{pod="w2",job_name="resend",result="ok"}': '1+1x22',
    },
    at: '15m',
    ...quiet,
  },
  {
    name: 'a job fails every minute',
    alert: 'GwkWorkerJobFailing',
    series: { 'gwk_worker_job_runs_total{pod="w",job_name="retention",result="error"}': '0+1x30' },
    at: '25m',
    fires: [
      {
        labels: { job_name: 'retention' },
        description: 'Job retention failed 15 times in 15 minutes.',
      },
    ],
  },
  ...['12m', '34m', '38m', '48m'].map((at) => ({
    name: `Postgres is unavailable and recovers, after ${at}`,
    alert: 'GwkWorkerJobFailing',
    series: OUTAGE,
    at,
    ...quiet,
  })),
  {
    name: 'Postgres is unavailable for half an hour',
    alert: 'GwkWorkerJobStuck',
    series: OUTAGE,
    at: '34m',
    ...quiet,
  },
  {
    name: 'Postgres fails repeatedly, each time for less than two minutes',
    alert: 'GwkWorkerJobFailing',
    series: {
      'gwk_database_size_bytes{pod="w1"}': '1000 NaN '.repeat(15).trim(),
      'gwk_worker_job_runs_total{pod="w1",job_name="release",result="error"}': '0+1x30',
    },
    at: '25m',
    fires: [{ labels: { job_name: 'release' }, description: 'Job release failed 15 times in 15 minutes.' }],
  },
  {
    name: 'a job fails now and then',
    alert: 'GwkWorkerJobFailing',
    series: {
      'gwk_worker_job_runs_total{pod="w1",job_name="release",result="error"}': '0 1 1 1 1 2 2 2 3 3 3 3x10',
    },
    at: '20m',
    ...quiet,
  },
  {
    name: 'no operator takes the lead',
    alert: 'GwkOperatorWithoutLeader',
    series: { 'gwk_operator_leader{pod="o1"}': '1 0x10', 'gwk_operator_leader{pod="o2"}': '0x10' },
    at: '4m',
    fires: [{ description: 'Running engines continue. No engine is started, moved or stopped.' }],
  },
  {
    name: 'Prometheus reaches no operator',
    alert: 'GwkOperatorWithoutLeader',
    series: { 'gwk_http_requests_in_flight{pod="a"}': '1x20' },
    at: '5m',
    fires: [{ description: 'Running engines continue. No engine is started, moved or stopped.' }],
  },
  {
    name: 'the leader changes',
    alert: 'GwkOperatorWithoutLeader',
    series: { 'gwk_operator_leader{pod="o1"}': '1 1 0x10', 'gwk_operator_leader{pod="o2"}': '0 0 0 1x10' },
    at: '6m',
    ...quiet,
  },
  {
    name: 'the API does not answer the operator',
    alert: 'GwkOperatorBehind',
    series: { 'gwk_operator_api_unresponsive_seconds{pod="o1"}': '200x20' },
    at: '12m',
    fires: [{ description: 'Changes to Instances take effect late.' }],
  },
  {
    name: 'a long queue after an upgrade empties',
    alert: 'GwkOperatorBehind',
    series: {
      'gwk_operator_queue_depth{pod="o1"}': '2000-250x8 0x10',
      'gwk_operator_api_unresponsive_seconds{pod="o1"}': '5x18',
    },
    at: '15m',
    ...quiet,
  },
  {
    name: 'a few instances are reconciled without pause',
    alert: 'GwkOperatorBusy',
    series: {
      'gwk_operator_reconciles_total{pod="o1",result="done",cause="recheck"}': '0+600x40',
      'gwk_operator_reconciles_total{pod="o1",result="done",cause="event"}': '0+60x40',
      'gwk_operator_instances{pod="o1"}': '40x40',
      'gwk_operator_instances{pod="o2"}': '0x40',
    },
    at: '30m',
    fires: [
      { description: '10 reconciles per second follow from no change of an instance, a pod or a state.' },
    ],
  },
  {
    name: 'thousands of rejected instances and a busy day',
    alert: 'GwkOperatorBusy',
    series: {
      'gwk_operator_reconciles_total{pod="o1",result="done",cause="recheck"}': '0+4000x40',
      'gwk_operator_reconciles_total{pod="o1",result="done",cause="facts"}': '0+30000x40',
      'gwk_operator_instances{pod="o1"}': '2000x40',
    },
    at: '30m',
    ...quiet,
  },
  {
    name: 'engines exit repeatedly',
    alert: 'GwkEnginesExiting',
    series: {
      'gwk_operator_engine_exits_total{pod="o1",requested="false"}': '0+1x30',
      'gwk_operator_instances{pod="o1"}': '40x30',
    },
    at: '25m',
    fires: [{ description: 'Engines exited 15 times in 15 minutes without a request to stop.' }],
  },
  {
    name: 'one of two thousand engines exits each minute',
    alert: 'GwkEnginesExiting',
    series: {
      'gwk_operator_engine_exits_total{pod="o1",requested="false"}': '0+1x30',
      'gwk_operator_instances{pod="o1"}': '2000x30',
    },
    at: '25m',
    ...quiet,
  },
  {
    name: 'one of two thousand engines is crash-looping',
    alert: 'GwkEngineCrashLoop',
    series: { 'gwk_operator_crash_loops{pod="o1"}': '0 1x20', 'gwk_operator_crash_loops{pod="o2"}': '0x21' },
    at: '15m',
    fires: [{ description: '1 engines are crash-looping. Retries back off to every 5 minutes.' }],
  },
  {
    name: 'engines exited while the API was down and recovered',
    alert: 'GwkEngineCrashLoop',
    series: { 'gwk_operator_crash_loops{pod="o1"}': '0 9x7 0x10' },
    at: '15m',
    ...quiet,
  },
  {
    name: 'an upgrade stops engines',
    alert: 'GwkEnginesExiting',
    series: {
      'gwk_operator_engine_exits_total{pod="o1",requested="true"}': '0+1x30',
      'gwk_operator_instances{pod="o1"}': '40x30',
    },
    at: '25m',
    ...quiet,
  },
  ...(['bundled', 'pinned'] as const).map((kind) => ({
    name: `the ${kind} version is 31 days behind the served one`,
    alert: 'GwkClientVersionOld' as const,
    series: { [`gwk_client_version_behind_seconds{pod="w",kind="${kind}"}`]: `${31 * DAY_S}x90` },
    at: '61m',
    fires: [
      {
        labels: { kind },
        description: `The ${kind} client version is 31d 0h 0m 0s behind the one that the network serves, which soon refuses it.`,
      },
    ],
  })),
  {
    name: 'the release is 29 days old, and Postgres does not answer one of the workers',
    alert: 'GwkClientVersionOld',
    series: {
      'gwk_client_version_behind_seconds{pod="w1",kind="bundled"}': `${29 * DAY_S}x90`,
      'gwk_client_version_behind_seconds{pod="w2",kind="bundled"}': 'NaN '.repeat(90).trim(),
    },
    at: '61m',
    ...quiet,
  },
  {
    name: 'every read has failed for 8 days',
    alert: 'GwkClientVersionUnread',
    series: { 'gwk_client_version_read_age_seconds{pod="w"}': `${8 * DAY_S}x90` },
    at: '80m',
    fires: [{ description: 'The last good read was 8d 0h 0m 0s ago. Engines do not learn newer versions.' }],
  },
  {
    name: 'nothing is read, because there are only sandboxes',
    alert: 'GwkClientVersionUnread',
    series: { 'gwk_client_version_read_age_seconds{pod="w"}': 'NaN '.repeat(90).trim() },
    at: '80m',
    ...quiet,
  },
  {
    name: 'reads have failed since yesterday',
    alert: 'GwkClientVersionUnread',
    series: { 'gwk_client_version_read_age_seconds{pod="w"}': `${DAY_S}x90` },
    at: '80m',
    ...quiet,
  },
];
