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
          'Nothing is accepted or delivered, and alerts of queues and numbers are silent. Engines keep their connections.',
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
        description: 'Messages still leave, up to 5 seconds later. Pairing, restarts and edits answer 503.',
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
    name: 'half of the engines of a namespace have lost Redis, which API and worker reach',
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
          '50% of the engines are without it: messages leave up to 5 seconds later, and pairing, restarts and edits answer 503.',
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
    name: 'all engines lose Redis for a moment, as it is replaced',
    alert: 'GwkEnginesWithoutRedis',
    series: { 'gwk_engine_redis_up{pod="a"}': '1 1 0 0 0 1 1 1 1 1' },
    at: '9m',
    ...quiet,
  },
  {
    name: 'one of two programs cannot write files',
    alert: 'GwkMediaStoreUnavailable',
    series: { 'gwk_media_store_writable{pod="a"}': '1 0x10', 'gwk_media_store_writable{pod="b"}': '1x10' },
    at: '8m',
    fires: [
      { description: 'Uploads fail, messages with files wait, and received files are lost. Texts leave.' },
    ],
  },
  {
    name: 'the store of files was away for a moment',
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
    name: 'statements wait for a moment, again and again',
    alert: 'GwkDatabasePoolFull',
    series: { 'gwk_database_pool_waiting{namespace="shop",pod="gwk-a"}': '4 4 4 0 9 9 9 0 2 2 2' },
    at: '10m',
    ...quiet,
  },
  {
    name: 'contents outlive their time by an hour, between two passes',
    alert: 'GwkRetentionOverdue',
    series: { 'gwk_retention_overdue_seconds{pod="w1"}': '0+60x60 0x30' },
    at: '60m',
    ...quiet,
  },
  {
    name: 'contents outlive their time',
    alert: 'GwkRetentionOverdue',
    series: { 'gwk_retention_overdue_seconds{pod="w1"}': '10800x30' },
    at: '20m',
    fires: [{ description: 'Contents of messages have outlived their time by 3h 0m 0s.' }],
  },
  {
    name: 'days whose time is over stay',
    alert: 'GwkPartitionDropOverdue',
    series: { 'gwk_partitions_expired{pod="w1"}': '2x800' },
    at: '725m',
    fires: [
      {
        description:
          '2 days of messages, events or webhook deliveries are past their time, the first of them for 12 hours.',
      },
    ],
  },
  {
    name: 'days whose time is over stay while a backup is made',
    alert: 'GwkPartitionDropOverdue',
    series: { 'gwk_partitions_expired{pod="w1"}': '2x800' },
    at: '715m',
    ...quiet,
  },
  {
    name: 'days whose time is over stay, and once nobody could look',
    alert: 'GwkPartitionDropOverdue',
    series: { 'gwk_partitions_expired{pod="w1"}': '2x400 NaN 2x400' },
    at: '725m',
    fires: [
      {
        description:
          '2 days of messages, events or webhook deliveries are past their time, the first of them for 12 hours.',
      },
    ],
  },
  {
    name: 'days whose time is over go one by one',
    alert: 'GwkPartitionDropOverdue',
    series: { 'gwk_partitions_expired{pod="w1"}': '249-6x41 0x800' },
    at: '765m',
    ...quiet,
  },
  {
    name: 'days whose time is over stay for most of the night',
    alert: 'GwkPartitionDropOverdue',
    series: { 'gwk_partitions_expired{pod="w1"}': '2x690 0x800' },
    at: '730m',
    ...quiet,
  },
  {
    name: 'a volume is nearly full',
    alert: 'GwkVolumeAlmostFull',
    series: {
      [`kubelet_volume_stats_available_bytes{${claim}}`]: '5x20',
      [`kubelet_volume_stats_capacity_bytes{${claim}}`]: '100x20',
    },
    at: '15m',
    fires: [{ labels: { persistentvolumeclaim: 'gwk-media' }, description: 'gwk-media has 5% left.' }],
  },
  {
    name: 'a volume has room, and one of others has none',
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
