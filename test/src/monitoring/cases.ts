/** What Prometheus sees (in its notation: one value a minute), and what it is to alert of at a time. */
export interface AlertCase {
  name: string;
  alert: string;
  series: Record<string, string>;
  at: string;
  /** None: quiet. */
  fires: { labels?: Record<string, string>; description: string }[];
}

const pod = 'namespace="shop",pod="gwk-a"';
const number = `${pod},instance_id="ins_a"`;
const numberLabels = { namespace: 'shop', pod: 'gwk-a', instance_id: 'ins_a' };
const state = (name: string, labels = number): string => `gwk_instance_state{${labels},state="${name}"}`;
const lost = (pod: string, name: string): string =>
  `gwk_instances{namespace="shop",pod="${pod}",state="${name}"}`;
const shop = (name: string) => ({ namespace: 'shop', state: name });
const quiet = { fires: [] };

const NUMBERS: AlertCase[] = [
  {
    name: 'a number is banned for a minute',
    alert: 'GwkNumberBanned',
    series: { [state('banned')]: '0 1x10', [state('connected')]: '1 0x10' },
    at: '3m',
    fires: [
      {
        labels: numberLabels,
        description: 'ins_a is banned: nothing leaves it, and nothing reaches it.',
      },
    ],
  },
  {
    name: 'a number without its name is told by its pod',
    alert: 'GwkNumberBanned',
    series: { [state('banned', pod)]: '1x10' },
    at: '3m',
    fires: [
      {
        labels: { namespace: 'shop', pod: 'gwk-a' },
        description: 'gwk-a is banned: nothing leaves it, and nothing reaches it.',
      },
    ],
  },
  {
    name: 'a number is connected',
    alert: 'GwkNumberBanned',
    series: { [state('banned')]: '0x10' },
    at: '5m',
    ...quiet,
  },
  {
    name: 'a number was logged out',
    alert: 'GwkNumberLoggedOut',
    series: { [state('logged_out')]: '1x10' },
    at: '2m',
    fires: [
      { labels: numberLabels, description: 'ins_a has to be paired again before it sends or receives.' },
    ],
  },
  {
    name: 'a number is banned for good, which ends its engine, and then the worker is replaced',
    alert: 'GwkNumbersLost',
    series: {
      [state('banned')]: '0 0 _x40',
      [lost('w1', 'banned')]: '2 2 3x10 _x30',
      [lost('w2', 'banned')]: '_x10 3x30',
      // For an hour or a day, with its engine: that one is told by itself, and hides no other.
      [state('banned', 'namespace="shop",pod="gwk-b",instance_id="ins_b"')]: '1x40',
    },
    at: '30m',
    fires: [
      { labels: shop('banned'), description: '1 more are banned than an hour ago. Each needs a person.' },
    ],
  },
  {
    name: 'two numbers were logged out, and their engines have ended',
    alert: 'GwkNumbersLost',
    series: { [lost('w1', 'logged_out')]: '0 2x40', [lost('w1', 'banned')]: '5x40' },
    at: '25m',
    fires: [
      {
        labels: shop('logged_out'),
        description: '2 more are logged_out than an hour ago. Each needs a person.',
      },
    ],
  },
  {
    name: 'numbers were banned long ago, one of them was deleted, and another gateway has fewer',
    alert: 'GwkNumbersLost',
    series: {
      [lost('w1', 'banned')]: '3x70 2x30',
      'gwk_instances{namespace="staging",pod="w",state="banned"}': '0x100',
    },
    at: '80m',
    ...quiet,
  },
  {
    name: 'one of two workers has looked a moment before the other',
    alert: 'GwkNumbersLost',
    series: { [lost('w1', 'banned')]: '4x30 3x29', [lost('w2', 'banned')]: '4x31 3x28' },
    at: '31m',
    ...quiet,
  },
  {
    name: 'Postgres was away for an hour',
    alert: 'GwkNumbersLost',
    series: { [lost('w1', 'banned')]: `3 ${'NaN '.repeat(70)}3 3 3 3 3 3 3` },
    at: '76m',
    ...quiet,
  },
  {
    name: 'a number connects and is dropped for over five minutes',
    alert: 'GwkNumberDisconnected',
    series: { [state('disconnected')]: '1 0 1 0 1 0 1 0 1', [state('connecting')]: '0 1 0 1 0 1 0 1 0' },
    at: '6m',
    fires: [
      {
        labels: numberLabels,
        description: 'The engine of ins_a runs and cannot connect to the network.',
      },
    ],
  },
  {
    name: 'a number is out for a moment, again and again',
    alert: 'GwkNumberDisconnected',
    series: { [state('disconnected')]: '1 1 0 1 1 0 1 1 0 1 1' },
    at: '10m',
    ...quiet,
  },
  {
    name: 'two numbers are out, as each of two workers says',
    alert: 'GwkNumbersDown',
    series: { 'gwk_instances_down{pod="w1"}': '0 2x10', 'gwk_instances_down{pod="w2"}': '0 2x10' },
    at: '4m',
    fires: [
      { description: '2 numbers that are to reconnect by themselves have been out for over 5 minutes.' },
    ],
  },
  {
    name: 'Postgres does not say how many are out',
    alert: 'GwkNumbersDown',
    series: { 'gwk_instances_down{pod="w1"}': 'NaN NaN NaN NaN NaN NaN NaN NaN NaN NaN' },
    at: '9m',
    ...quiet,
  },
  {
    name: 'the network rejects the version of the client',
    alert: 'GwkNetworkRefusesClient',
    series: { 'gwk_engine_disconnections_total{pod="a",reason="version_rejected_405"}': '0 0 1 2 2 2' },
    at: '5m',
    fires: [
      {
        labels: { reason: 'version_rejected_405' },
        description: 'Engines are refused (version_rejected_405). Numbers that reconnect stay out.',
      },
    ],
  },
  {
    name: 'a new engine is refused at its first attempt, and waits for an hour',
    alert: 'GwkNetworkRefusesClient',
    series: {
      'gwk_engine_disconnections_total{pod="a",reason="certificate_rejected"}': `_x9 ${'1 '.repeat(60).trim()}`,
    },
    at: '65m',
    fires: [
      {
        labels: { reason: 'certificate_rejected' },
        description: 'Engines are refused (certificate_rejected). Numbers that reconnect stay out.',
      },
    ],
  },
  {
    name: 'the network refused the client hours ago',
    alert: 'GwkNetworkRefusesClient',
    series: { 'gwk_engine_disconnections_total{pod="a",reason="version_rejected_405"}': '0 1 2 3x300' },
    at: '280m',
    ...quiet,
  },
  {
    name: 'lines are lost for other reasons',
    alert: 'GwkNetworkRefusesClient',
    series: { 'gwk_engine_disconnections_total{pod="a",reason="connection_lost"}': '0+3x10' },
    at: '9m',
    ...quiet,
  },
];

const failed = 'gwk_message_statuses_total{status="failed",code="timeout"}';
const sent = 'gwk_message_statuses_total{status="sent",code=""}';

const MESSAGES: AlertCase[] = [
  {
    name: 'the oldest message waits for 15 minutes and longer',
    alert: 'GwkSendQueueOld',
    series: { 'gwk_send_queue_age_seconds{pod="w1"}': '900x10' },
    at: '6m',
    fires: [{ description: 'The oldest has been the next of its conversation for 15m 0s.' }],
  },
  {
    name: 'paced messages take their turn',
    alert: 'GwkSendQueueOld',
    series: { 'gwk_send_queue_age_seconds{pod="w1"}': '500x10' },
    at: '9m',
    ...quiet,
  },
  {
    name: 'one message in ten times out',
    alert: 'GwkSendsFail',
    series: { [failed]: '0+10x30', [sent]: '0+90x30' },
    at: '25m',
    fires: [{ description: '10% of the messages that ended in the last 15 minutes.' }],
  },
  {
    name: 'messages fail for reasons of their own',
    alert: 'GwkSendsFail',
    series: {
      'gwk_message_statuses_total{status="failed",code="recipient_not_on_whatsapp"}': '0+50x30',
      [sent]: '0+50x30',
    },
    at: '25m',
    ...quiet,
  },
  {
    name: 'a single message fails at night',
    alert: 'GwkSendsFail',
    series: { [failed]: '0 1 1 1 1 1 1 1 1 1 1 1 1 1 1', [sent]: '0x14' },
    at: '14m',
    ...quiet,
  },
  {
    name: 'a file has not been prepared for half an hour',
    alert: 'GwkPreparationOld',
    series: { 'gwk_preparation_age_seconds{pod="w1"}': '1800x10' },
    at: '6m',
    fires: [{ description: 'The oldest has waited for 30m 0s.' }],
  },
];

const WEBHOOKS: AlertCase[] = [
  {
    name: 'deliveries are late',
    alert: 'GwkWebhookBacklog',
    series: { 'gwk_webhook_queue_age_seconds{pod="w1"}': '300x10' },
    at: '6m',
    fires: [{ description: 'The oldest due delivery is 5m 0s late.' }],
  },
  {
    name: 'deliveries are late for a minute',
    alert: 'GwkWebhookBacklog',
    series: { 'gwk_webhook_queue_age_seconds{pod="w1"}': '0 0 300 300 0 0 0' },
    at: '6m',
    ...quiet,
  },
  {
    name: 'a destination has just been disabled',
    alert: 'GwkDestinationDisabled',
    series: { 'gwk_webhook_endpoints{pod="w1",state="disabled_by_gwk"}': '3x30 4x60' },
    at: '40m',
    fires: [
      { description: '1 destinations within the last hour. Their owners receive no events by webhook.' },
    ],
  },
  {
    name: 'a destination was disabled, and then the worker was replaced',
    alert: 'GwkDestinationDisabled',
    series: {
      'gwk_webhook_endpoints{pod="w1",state="disabled_by_gwk"}': '3x30 4x5 _x40',
      'gwk_webhook_endpoints{pod="w2",state="disabled_by_gwk"}': '_x34 4x60',
    },
    at: '50m',
    fires: [
      { description: '1 destinations within the last hour. Their owners receive no events by webhook.' },
    ],
  },
  {
    name: 'a destination is enabled again, as one of two workers says a moment before the other',
    alert: 'GwkDestinationDisabled',
    series: {
      'gwk_webhook_endpoints{pod="w1",state="disabled_by_gwk"}': '4x30 3x29',
      'gwk_webhook_endpoints{pod="w2",state="disabled_by_gwk"}': '4x31 3x28',
    },
    at: '31m',
    ...quiet,
  },
  {
    name: 'destinations were disabled long ago',
    alert: 'GwkDestinationDisabled',
    series: { 'gwk_webhook_endpoints{pod="w1",state="disabled_by_gwk"}': '3x90' },
    at: '80m',
    ...quiet,
  },
];

const PROGRAMS: AlertCase[] = [
  {
    name: 'no API is seen',
    alert: 'GwkApiGone',
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
    alert: 'GwkApiGone',
    series: {
      'gwk_http_requests_in_flight{pod="a"}': '1 _x20',
      'gwk_http_requests_in_flight{pod="b"}': '1x20',
    },
    at: '15m',
    ...quiet,
  },
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
    alert: 'GwkWorkerGone',
    series: { 'gwk_worker_sweeps_total{pod="w",sweep="resend",result="ok"}': '1 2 _x20' },
    at: '15m',
    fires: [
      {
        description:
          'Webhooks, files, schedules and retention stand still. Messages without files still leave.',
      },
    ],
  },
  {
    name: 'a loop fails every minute',
    alert: 'GwkWorkerLoopFails',
    series: { 'gwk_worker_sweeps_total{pod="w",sweep="retention",result="error"}': '0+1x30' },
    at: '25m',
    fires: [
      {
        labels: { sweep: 'retention' },
        description: 'The loop retention has failed 15 times in 15 minutes.',
      },
    ],
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
    series: { 'gwk_operator_api_silent_seconds{pod="o1"}': '200x20' },
    at: '12m',
    fires: [{ description: 'Changes of Instances are late.' }],
  },
  {
    name: 'engines end again and again',
    alert: 'GwkEnginesEnd',
    series: {
      'gwk_operator_engine_ends_total{pod="o1",asked="false"}': '0+1x30',
      'gwk_operator_instances{pod="o1"}': '40x30',
    },
    at: '25m',
    fires: [{ description: '15 times in 15 minutes, without having been asked to.' }],
  },
  {
    name: 'of two thousand engines one ends each minute',
    alert: 'GwkEnginesEnd',
    series: {
      'gwk_operator_engine_ends_total{pod="o1",asked="false"}': '0+1x30',
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
    alert: 'GwkEnginesEnd',
    series: {
      'gwk_operator_engine_ends_total{pod="o1",asked="true"}': '0+1x30',
      'gwk_operator_instances{pod="o1"}': '40x30',
    },
    at: '25m',
    ...quiet,
  },
];

const claim = 'persistentvolumeclaim="gwk-media"';

const STORES: AlertCase[] = [
  {
    name: 'Postgres does not answer the worker',
    alert: 'GwkPostgresAway',
    series: { 'gwk_database_size_bytes{pod="w1"}': '1000 NaN NaN NaN NaN NaN NaN NaN NaN' },
    at: '5m',
    fires: [
      {
        description:
          'Nothing is accepted or delivered, and alerts of queues and numbers are silent. Engines keep their connections.',
      },
    ],
  },
  {
    name: 'Postgres answers',
    alert: 'GwkPostgresAway',
    series: { 'gwk_database_size_bytes{pod="w1"}': '1000x10' },
    at: '9m',
    ...quiet,
  },
  {
    name: 'Redis does not answer one of the programs',
    alert: 'GwkRedisAway',
    series: {
      'gwk_redis_ping_seconds{pod="a"}': 'NaN NaN NaN NaN NaN NaN NaN NaN NaN NaN',
      'gwk_redis_ping_seconds{pod="b"}': '0.001x10',
    },
    at: '5m',
    fires: [
      {
        description: 'Messages still leave, up to 5 seconds later. Pairing, restarts and edits answer 503.',
      },
    ],
  },
  {
    name: 'Redis answers',
    alert: 'GwkRedisAway',
    series: { 'gwk_redis_ping_seconds{pod="a"}': '0.9x10' },
    at: '5m',
    ...quiet,
  },
  {
    name: 'one of two programs cannot write files',
    alert: 'GwkMediaStoreAway',
    series: { 'gwk_media_store_writable{pod="a"}': '1 0x10', 'gwk_media_store_writable{pod="b"}': '1x10' },
    at: '8m',
    fires: [
      { description: 'Uploads fail, messages with files wait, and received files are lost. Texts leave.' },
    ],
  },
  {
    name: 'the store of files was away for a moment',
    alert: 'GwkMediaStoreAway',
    series: { 'gwk_media_store_writable{pod="a"}': '1 0 0 1 1 1 1 1 1 1' },
    at: '9m',
    ...quiet,
  },
  {
    name: 'statements wait for connections',
    alert: 'GwkDatabasePoolFull',
    series: { 'gwk_database_pool_waiting{namespace="shop",pod="gwk-a"}': '4x10' },
    at: '6m',
    fires: [
      {
        labels: { namespace: 'shop', pod: 'gwk-a' },
        description: 'gwk-a has had 4 statements waiting for 5 minutes.',
      },
    ],
  },
  {
    name: 'contents outlive their time',
    alert: 'GwkRetentionLate',
    series: { 'gwk_retention_late_seconds{pod="w1"}': '10800x30' },
    at: '20m',
    fires: [{ description: 'Contents of messages have outlived their time by 3h 0m 0s.' }],
  },
  {
    name: 'a volume is nearly full',
    alert: 'GwkVolumeFills',
    series: {
      [`kubelet_volume_stats_available_bytes{${claim}}`]: '5x20',
      [`kubelet_volume_stats_capacity_bytes{${claim}}`]: '100x20',
    },
    at: '15m',
    fires: [{ labels: { persistentvolumeclaim: 'gwk-media' }, description: 'gwk-media has 5% left.' }],
  },
];

export const ALERT_CASES: readonly AlertCase[] = [
  ...NUMBERS,
  ...MESSAGES,
  ...WEBHOOKS,
  ...PROGRAMS,
  ...STORES,
];
