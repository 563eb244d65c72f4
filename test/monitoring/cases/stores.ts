import { quiet, type AlertCase } from './alert-case.js';

const claim = 'persistentvolumeclaim="gwk-media"';
const noLimit = Array<string>(20).fill('NaN').join(' ');

export const STORES: AlertCase[] = [
  {
    name: 'Postgres does not answer the worker',
    alert: 'GwkPostgresUnavailable',
    series: { 'gwk_database_size_bytes{pod="w1"}': '1000 NaN NaN NaN NaN NaN NaN NaN NaN' },
    at: '5m',
    fires: [
      {
        description:
          'Nothing is accepted or delivered, and alerts on queues and instances cannot fire. Engines disconnect 40 s after their last lease renewal.',
      },
    ],
  },
  {
    name: 'Postgres answers',
    alert: 'GwkPostgresUnavailable',
    series: { 'gwk_database_size_bytes{pod="w1"}': '1000x10' },
    at: '9m',
    ...quiet,
  },
  {
    name: 'Redis does not answer one of the programs',
    alert: 'GwkRedisUnavailable',
    series: {
      'gwk_redis_ping_seconds{pod="a"}': 'NaN NaN NaN NaN NaN NaN NaN NaN NaN NaN',
      'gwk_redis_ping_seconds{pod="b"}': '0.001x10',
    },
    at: '5m',
    fires: [
      {
        description: 'Messages leave up to 5 s later. Pairing, restarts and edits return 503.',
      },
    ],
  },
  {
    name: 'Redis answers',
    alert: 'GwkRedisUnavailable',
    series: { 'gwk_redis_ping_seconds{pod="a"}': '0.9x10' },
    at: '5m',
    ...quiet,
  },
  {
    name: 'Redis uses nine tenths of its memory',
    alert: 'GwkRedisAlmostFull',
    series: { 'gwk_redis_memory_ratio{pod="a"}': '0.9x20', 'gwk_redis_memory_ratio{pod="b"}': noLimit },
    at: '15m',
    fires: [
      {
        description:
          'Redis uses 90% of its maxmemory. When it is full, messages leave up to 5 s later, and pairing, restarts and edits return 503.',
      },
    ],
  },
  {
    name: 'Redis uses half of its memory, or has no limit',
    alert: 'GwkRedisAlmostFull',
    series: { 'gwk_redis_memory_ratio{pod="a"}': '0.5x20', 'gwk_redis_memory_ratio{pod="b"}': noLimit },
    at: '15m',
    ...quiet,
  },
  {
    name: 'half of the engines of a namespace have lost Redis, but the API reaches it',
    alert: 'GwkEnginesWithoutRedis',
    series: {
      'gwk_engine_redis_up{namespace="shop",pod="a"}': '1 0x10',
      'gwk_engine_redis_up{namespace="shop",pod="b"}': '1x11',
      'gwk_engine_redis_up{namespace="support",pod="a"}': '1x11',
      'gwk_redis_ping_seconds{pod="api"}': '0.001x11',
    },
    at: '8m',
    fires: [
      {
        labels: { namespace: 'shop' },
        description:
          '50% of the engines are affected. Messages leave up to 5 s later; pairing, restarts and edits return 503.',
      },
    ],
  },
  {
    name: 'one of twenty engines has lost Redis',
    alert: 'GwkEnginesWithoutRedis',
    series: {
      ...Object.fromEntries(
        Array.from({ length: 19 }, (_, place) => [`gwk_engine_redis_up{pod="e${place}"}`, '1x20']),
      ),
      'gwk_engine_redis_up{pod="x"}': '0x20',
    },
    at: '15m',
    ...quiet,
  },
  {
    name: 'all engines lose Redis while it is replaced',
    alert: 'GwkEnginesWithoutRedis',
    series: { 'gwk_engine_redis_up{pod="a"}': '1 1 0 0 0 1 1 1 1 1' },
    at: '9m',
    ...quiet,
  },
  {
    name: 'one of two programs cannot write media',
    alert: 'GwkMediaStoreUnavailable',
    series: { 'gwk_media_store_writable{pod="a"}': '1 0x10', 'gwk_media_store_writable{pod="b"}': '1x10' },
    at: '8m',
    fires: [
      {
        description:
          'Uploads fail, messages with media wait, and received files are lost. Text messages leave.',
      },
    ],
  },
  {
    name: 'the media store was not writable for two minutes',
    alert: 'GwkMediaStoreUnavailable',
    series: { 'gwk_media_store_writable{pod="a"}': '1 0 0 1 1 1 1 1 1 1' },
    at: '9m',
    ...quiet,
  },
  {
    name: 'the API refuses uploads for ten minutes because it is full',
    alert: 'GwkTransfersRefused',
    series: {
      'gwk_media_transfers_limited_total{pod="a",kind="upload",limit="process"}': '0+6x20',
      'gwk_media_transfers_limited_total{pod="a",kind="download",limit="process"}': '0x20',
    },
    at: '12m',
    fires: [
      {
        labels: { kind: 'upload' },
        description:
          'The API has refused 60 transfers of the kind upload within 10 minutes, because a process has as many as it may.',
      },
    ],
  },
  {
    name: 'the API refuses downloads of one file',
    alert: 'GwkTransfersRefused',
    series: { 'gwk_media_transfers_limited_total{pod="a",kind="download",limit="file"}': '0+6x20' },
    at: '12m',
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
    name: 'statements wait for short moments repeatedly',
    alert: 'GwkDatabasePoolFull',
    series: { 'gwk_database_pool_waiting{namespace="shop",pod="gwk-a"}': '4 4 4 0 9 9 9 0 2 2 2' },
    at: '10m',
    ...quiet,
  },
  {
    name: 'a transaction stays open for four minutes, and one worker has restarted since',
    alert: 'GwkEventsHeldBack',
    series: {
      'gwk_events_held_seconds{pod="w1"}': '0+60x4',
      'gwk_events_held_seconds{pod="w2"}': '0 60 0 60 120',
    },
    at: '4m',
    fires: [
      {
        description:
          'One writing transaction has been open on the Postgres server for 4m 0s. Event streams and GET /v1/events?after= show nothing newer until it ends. Webhooks are not affected.',
      },
    ],
  },
  {
    name: 'short transactions hold events for moments',
    alert: 'GwkEventsHeldBack',
    series: { 'gwk_events_held_seconds{pod="w1"}': '0 20 0 110 0 30 0 10 0' },
    at: '8m',
    ...quiet,
  },
  {
    name: 'contents are an hour overdue between two job runs',
    alert: 'GwkRetentionOverdue',
    series: { 'gwk_retention_overdue_seconds{pod="w1"}': '0+60x60 0x30' },
    at: '60m',
    ...quiet,
  },
  {
    name: 'contents are three hours overdue',
    alert: 'GwkRetentionOverdue',
    series: { 'gwk_retention_overdue_seconds{pod="w1"}': '10800x30' },
    at: '20m',
    fires: [{ description: 'The oldest content is 3h 0m 0s past its retention time.' }],
  },
  {
    name: 'expired partitions remain for over 12 hours',
    alert: 'GwkPartitionDropOverdue',
    series: { 'gwk_partitions_expired{pod="w1"}': '2x800' },
    at: '725m',
    fires: [
      {
        description:
          '2 daily partitions of messages, events or webhook deliveries have expired; the oldest expired over 12 hours ago.',
      },
    ],
  },
  {
    name: 'expired partitions remain during a backup',
    alert: 'GwkPartitionDropOverdue',
    series: { 'gwk_partitions_expired{pod="w1"}': '2x800' },
    at: '715m',
    ...quiet,
  },
  {
    name: 'expired partitions remain, and one reading is NaN',
    alert: 'GwkPartitionDropOverdue',
    series: { 'gwk_partitions_expired{pod="w1"}': '2x400 NaN 2x400' },
    at: '725m',
    fires: [
      {
        description:
          '2 daily partitions of messages, events or webhook deliveries have expired; the oldest expired over 12 hours ago.',
      },
    ],
  },
  {
    name: 'expired partitions are dropped one by one',
    alert: 'GwkPartitionDropOverdue',
    series: { 'gwk_partitions_expired{pod="w1"}': '249-6x41 0x800' },
    at: '765m',
    ...quiet,
  },
  {
    name: 'expired partitions are dropped after 690 minutes',
    alert: 'GwkPartitionDropOverdue',
    series: { 'gwk_partitions_expired{pod="w1"}': '2x690 0x800' },
    at: '730m',
    ...quiet,
  },
  {
    name: 'an account uses 90 % of its limit of files',
    alert: 'GwkAccountStorageAlmostFull',
    series: { 'gwk_account_usage_ratio{account="acme",resource="media_files"}': '0.9x20' },
    at: '16m',
    fires: [
      {
        labels: { account: 'acme', resource: 'media_files' },
        description:
          'acme uses 90% of its limit of media_files. At 100% its uploads (media) or its messages to sandboxes (events) are refused.',
      },
    ],
  },
  {
    name: 'the series of an account ends when files expire',
    alert: 'GwkAccountStorageAlmostFull',
    series: { 'gwk_account_usage_ratio{account="acme",resource="media_files"}': '0.9x5 _x20' },
    at: '20m',
    ...quiet,
  },
  {
    name: 'an account stores 3.5 times its limit',
    alert: 'GwkAccountFilesRefused',
    series: { 'gwk_account_usage_ratio{account="acme",resource="media_bytes"}': '3.5x20' },
    at: '16m',
    fires: [
      {
        labels: { account: 'acme', resource: 'media_bytes' },
        description:
          'acme uses 350% of its limit of media_bytes. At 400% received files are lost, and messages with files fail.',
      },
    ],
  },
  {
    name: 'the events of an account exceed their limit',
    alert: 'GwkAccountFilesRefused',
    series: { 'gwk_account_usage_ratio{account="acme",resource="event_bytes"}': '9x20' },
    at: '16m',
    ...quiet,
  },
  {
    name: 'a volume is almost full',
    alert: 'GwkVolumeAlmostFull',
    series: {
      [`kubelet_volume_stats_available_bytes{${claim}}`]: '5x20',
      [`kubelet_volume_stats_capacity_bytes{${claim}}`]: '100x20',
    },
    at: '15m',
    fires: [{ labels: { persistentvolumeclaim: 'gwk-media' }, description: 'gwk-media has 5% free.' }],
  },
  {
    name: 'a gwk volume is half full, and a foreign volume is full',
    alert: 'GwkVolumeAlmostFull',
    series: {
      [`kubelet_volume_stats_available_bytes{${claim}}`]: '50x20',
      [`kubelet_volume_stats_capacity_bytes{${claim}}`]: '100x20',
      'kubelet_volume_stats_available_bytes{persistentvolumeclaim="shop"}': '0x20',
      'kubelet_volume_stats_capacity_bytes{persistentvolumeclaim="shop"}': '100x20',
    },
    at: '15m',
    ...quiet,
  },
];
