import { quiet, type AlertCase } from './alert-case.js';

const claim = 'persistentvolumeclaim="gwk-media"';

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
