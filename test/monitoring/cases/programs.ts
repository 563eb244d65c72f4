import { quiet, type AlertCase } from './alert-case.js';

/** Postgres is away from the 5th minute to the 35th. */
const AWAY = {
  'gwk_database_size_bytes{pod="w1"}': `1000x4 ${'NaN '.repeat(30)}1000x30`,
  'gwk_worker_job_runs_total{pod="w1",job="release",result="error"}': '0x4 0+6x30 180x30',
  'gwk_worker_job_overdue_seconds{pod="w1",job="release"}': '0x4 0+60x30 0x30',
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
    name: 'a loop of one of two workers does not come back',
    alert: 'GwkWorkerJobStuck',
    series: {
      'gwk_worker_job_overdue_seconds{pod="w1",job="release"}': '0 0+60x30',
      'gwk_worker_job_overdue_seconds{pod="w2",job="release"}': '0x31',
    },
    at: '18m',
    fires: [
      {
        labels: { pod: 'w1', job: 'release' },
        description: 'The loop release of w1 was to have ended a pass 17m 0s ago.',
      },
    ],
  },
  {
    name: 'a pass takes ten minutes',
    alert: 'GwkWorkerJobStuck',
    series: { 'gwk_worker_job_overdue_seconds{pod="w1",job="partitions"}': '0+60x10 0x20' },
    at: '14m',
    ...quiet,
  },
  {
    name: 'an engine fell silent, and Prometheus did not answer the worker',
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
          'The worker cannot read prometheus. Times of outages are those of leases, up to a renewal too early.',
      },
    ],
  },
  {
    name: 'one read failed, and others did not',
    alert: 'GwkLivenessUnreadable',
    series: {
      'gwk_availability_liveness_reads_total{source="prometheus",result="error"}': '0x10 1x30',
      'gwk_availability_liveness_reads_total{source="prometheus",result="ok"}': '0x20 1x20',
    },
    at: '40m',
    ...quiet,
  },
  {
    name: 'no API is seen',
    alert: 'GwkApiDown',
    series: { 'gwk_http_requests_in_flight{pod="a"}': '1 1 _x20' },
    at: '15m',
    fires: [
      {
        description: 'Nothing is accepted, and engines cannot report. Their leases end within a minute.',
      },
    ],
  },
  {
    name: 'one of two replicas is seen',
    alert: 'GwkApiDown',
    series: {
      'gwk_http_requests_in_flight{pod="a"}': '1 _x20',
      'gwk_http_requests_in_flight{pod="b"}': '1x20',
    },
    at: '15m',
    ...quiet,
  },
  {
    name: 'the API alone cannot reach Postgres',
    alert: 'GwkApiNotReady',
    series: { ...ready('a', '1 0x20'), ...ready('b', '1 0x20'), ...WORKER, ...POSTGRES },
    at: '8m',
    fires: [
      {
        description: 'They run, and none is given requests: nothing is accepted, and engines cannot report.',
      },
    ],
  },
  {
    name: 'one of two replicas is not ready, nor is a worker',
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
    name: `Postgres is away for all, after ${at}`,
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
    fires: [{ description: '10% of the requests are answered with 5xx.' }],
  },
  {
    name: 'requests are refused',
    alert: 'GwkApiErrors',
    series: {
      'gwk_http_request_duration_seconds_count{operation="send",status="202"}': '0+10x20',
      'gwk_http_request_duration_seconds_count{operation="send",status="422"}': '0+900x20',
    },
    at: '15m',
    ...quiet,
  },
  {
    name: 'of two requests a minute each fails',
    alert: 'GwkApiErrors',
    series: { 'gwk_http_request_duration_seconds_count{operation="send",status="500"}': '0+2x30' },
    at: '25m',
    fires: [{ description: '100% of the requests are answered with 5xx.' }],
  },
  {
    name: 'somebody asks for what cannot be done, in a quiet night',
    alert: 'GwkApiErrors',
    series: {
      'gwk_http_request_duration_seconds_count{operation="send",status="202"}': '0+2x20',
      'gwk_http_request_duration_seconds_count{operation="presence",status="503"}': '0+1x20',
    },
    at: '15m',
    ...quiet,
  },
  {
    name: 'no worker is seen',
    alert: 'GwkWorkerDown',
    series: { 'gwk_worker_job_runs_total{pod="w",job="resend",result="ok"}': '1 2 _x20' },
    at: '15m',
    fires: [
      {
        description:
          'Webhooks, files, schedules and retention stand still. Messages without files still leave.',
      },
    ],
  },
  {
    name: 'one of two workers is seen',
    alert: 'GwkWorkerDown',
    series: {
      'gwk_worker_job_runs_total{pod="w1",job="resend",result="ok"}': '1 2 _x20',
      'gwk_worker_job_runs_total{pod="w2",job="resend",result="ok"}': '1+1x22',
    },
    at: '15m',
    ...quiet,
  },
  {
    name: 'a loop fails every minute',
    alert: 'GwkWorkerJobFailing',
    series: { 'gwk_worker_job_runs_total{pod="w",job="retention",result="error"}': '0+1x30' },
    at: '25m',
    fires: [
      {
        labels: { job: 'retention' },
        description: 'The loop retention has failed 15 times in 15 minutes.',
      },
    ],
  },
  ...['12m', '34m', '38m', '48m'].map((at) => ({
    name: `Postgres is away and comes back, after ${at}`,
    alert: 'GwkWorkerJobFailing',
    series: AWAY,
    at,
    ...quiet,
  })),
  {
    name: 'Postgres is away for half an hour',
    alert: 'GwkWorkerJobStuck',
    series: AWAY,
    at: '34m',
    ...quiet,
  },
  {
    name: 'Postgres stutters, never for as long as two minutes',
    alert: 'GwkWorkerJobFailing',
    series: {
      'gwk_database_size_bytes{pod="w1"}': '1000 NaN '.repeat(15).trim(),
      'gwk_worker_job_runs_total{pod="w1",job="release",result="error"}': '0+1x30',
    },
    at: '25m',
    fires: [
      { labels: { job: 'release' }, description: 'The loop release has failed 15 times in 15 minutes.' },
    ],
  },
  {
    name: 'a loop fails now and then',
    alert: 'GwkWorkerJobFailing',
    series: {
      'gwk_worker_job_runs_total{pod="w1",job="release",result="error"}': '0 1 1 1 1 2 2 2 3 3 3 3x10',
    },
    at: '20m',
    ...quiet,
  },
  {
    name: 'two operators wait for each other',
    alert: 'GwkOperatorWithoutLeader',
    series: { 'gwk_operator_leader{pod="o1"}': '1 0x10', 'gwk_operator_leader{pod="o2"}': '0x10' },
    at: '4m',
    fires: [{ description: 'Engines that run go on. None is started, moved or ended.' }],
  },
  {
    name: 'no operator is seen',
    alert: 'GwkOperatorWithoutLeader',
    series: { 'gwk_http_requests_in_flight{pod="a"}': '1x20' },
    at: '5m',
    fires: [{ description: 'Engines that run go on. None is started, moved or ended.' }],
  },
  {
    name: 'the leader changes',
    alert: 'GwkOperatorWithoutLeader',
    series: { 'gwk_operator_leader{pod="o1"}': '1 1 0x10', 'gwk_operator_leader{pod="o2"}': '0 0 0 1x10' },
    at: '6m',
    ...quiet,
  },
  {
    name: 'the operator does not hear the API',
    alert: 'GwkOperatorBehind',
    series: { 'gwk_operator_api_unresponsive_seconds{pod="o1"}': '200x20' },
    at: '12m',
    fires: [{ description: 'Changes of Instances are late.' }],
  },
  {
    name: 'many Instances wait after an upgrade, and go',
    alert: 'GwkOperatorBehind',
    series: {
      'gwk_operator_queue_depth{pod="o1"}': '2000-250x8 0x10',
      'gwk_operator_api_unresponsive_seconds{pod="o1"}': '5x18',
    },
    at: '15m',
    ...quiet,
  },
  {
    name: 'engines end again and again',
    alert: 'GwkEnginesExiting',
    series: {
      'gwk_operator_engine_exits_total{pod="o1",requested="false"}': '0+1x30',
      'gwk_operator_instances{pod="o1"}': '40x30',
    },
    at: '25m',
    fires: [{ description: '15 times in 15 minutes, without having been asked to.' }],
  },
  {
    name: 'of two thousand engines one ends each minute',
    alert: 'GwkEnginesExiting',
    series: {
      'gwk_operator_engine_exits_total{pod="o1",requested="false"}': '0+1x30',
      'gwk_operator_instances{pod="o1"}': '2000x30',
    },
    at: '25m',
    ...quiet,
  },
  {
    name: 'of two thousand engines one ends each time that it is started',
    alert: 'GwkEngineCrashLoop',
    series: { 'gwk_operator_crash_loops{pod="o1"}': '0 1x20', 'gwk_operator_crash_loops{pod="o2"}': '0x21' },
    at: '15m',
    fires: [{ description: 'So it is with 1 numbers. Each is tried again every five minutes at last.' }],
  },
  {
    name: 'engines ended while the API was away, and run again',
    alert: 'GwkEngineCrashLoop',
    series: { 'gwk_operator_crash_loops{pod="o1"}': '0 9x7 0x10' },
    at: '15m',
    ...quiet,
  },
  {
    name: 'engines are ended by an upgrade',
    alert: 'GwkEnginesExiting',
    series: {
      'gwk_operator_engine_exits_total{pod="o1",requested="true"}': '0+1x30',
      'gwk_operator_instances{pod="o1"}': '40x30',
    },
    at: '25m',
    ...quiet,
  },
];
