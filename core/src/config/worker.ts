import { secretSetting, setting, types } from './load.js';
import { mediaStoreSettings } from './media.js';
import * as shared from './shared.js';
import { tracingSettings } from './tracing.js';

/** Settings of `gwk worker`. */
export const workerSettings = {
  databaseUrl: shared.databaseUrl,
  databaseCa: shared.databaseCa,
  databasePool: setting(
    'GWK_WORKER_DATABASE_POOL',
    types.integer(2, 200).default(8),
    'Connections to Postgres held by one worker process.',
  ),
  redisUrl: shared.redisUrl,
  redisCa: shared.redisCa,
  redisPrefix: shared.redisPrefix,
  encryptionKeys: shared.encryptionKeys,
  logLevel: shared.logLevel,
  exitWithParent: shared.exitWithParent,
  environmentPolicy: setting(
    'GWK_WORKER_POLICY',
    types.text().default('{}'),
    'Policy overrides of this environment, as JSON: what GWK_API_POLICY says.',
  ),
  host: setting(
    'GWK_WORKER_HOST',
    types.text().default('0.0.0.0'),
    'Address of the health and metrics listener.',
  ),
  port: setting(
    'GWK_WORKER_PORT',
    types.integer(0, 65535).default(8082),
    'Port of the health and metrics listener.',
  ),
  loopbackWebhooks: setting(
    'GWK_WORKER_LOOPBACK_WEBHOOKS',
    types.flag().default(false),
    'Post to destinations of the form http://127.0.0.1:PORT/. Only for a gateway on one machine.',
  ),
  forbiddenRanges: setting(
    'GWK_WORKER_FORBIDDEN_RANGES',
    types.ranges().default([]),
    'More address ranges (CIDR, separated by commas) that webhooks and media must never reach: the cluster its own.',
  ),
  webhookTimeoutMs: setting(
    'GWK_WORKER_WEBHOOK_TIMEOUT_MS',
    types.integer(100, 60_000).default(15_000),
    'How long a webhook destination may take to answer (milliseconds).',
  ),
  webhookConcurrency: setting(
    'GWK_WORKER_WEBHOOK_CONCURRENCY',
    types.integer(1, 5000).default(256),
    'Webhook calls in flight in one worker.',
  ),
  webhookConcurrencyPerEndpoint: setting(
    'GWK_WORKER_WEBHOOK_CONCURRENCY_PER_ENDPOINT',
    types.integer(1, 500).default(10),
    'Webhook calls in flight to one destination from one worker: a slow one holds no more than these.',
  ),
  mediaUrl: setting(
    'GWK_MEDIA_URL',
    types.url('http', 'https').default('http://127.0.0.1:8080'),
    'Public address of links to media ({media_url}), as the API has it: a host of its own, or GWK_API_BASE_URL.',
  ),
  ...mediaStoreSettings,
  mediaConcurrency: setting(
    'GWK_WORKER_MEDIA_CONCURRENCY',
    types.integer(1, 500).default(8),
    'Messages that one worker prepares at a time: files fetched, previews made.',
  ),
  mediaDecoders: setting(
    'GWK_WORKER_MEDIA_DECODERS',
    types.integer(1, 100).default(2),
    'Processes that one worker runs at a time to decode and convert files.',
  ),
  mediaFetchMs: setting(
    'GWK_WORKER_MEDIA_FETCH_MS',
    types.integer(100, 600_000).default(60_000),
    'How long fetching one file may take as a whole (milliseconds).',
  ),
  mediaDecodeMs: setting(
    'GWK_WORKER_MEDIA_DECODE_MS',
    types.integer(100, 600_000).default(60_000),
    'How long decoding or converting one file may take (milliseconds).',
  ),
  mediaDecodeMb: setting(
    'GWK_WORKER_MEDIA_DECODE_MB',
    types.integer(256, 16_384).default(1_024),
    'Memory of one process that decodes or converts (megabytes); beyond it the process is ended.',
  ),
  ffmpeg: setting(
    'GWK_WORKER_FFMPEG',
    types.text().optional(),
    'The ffmpeg to run; when not set, the one on the path, else the one that came with the packages.',
  ),
  loopbackMedia: setting(
    'GWK_WORKER_LOOPBACK_MEDIA',
    types.flag().default(false),
    'Fetch media from http://127.0.0.1:PORT/ too. Only for tests.',
  ),
  prometheusUrl: secretSetting(
    'PROMETHEUS_URL',
    types.url('http', 'https').optional(),
    'Address of Prometheus, or of what speaks its API (Thanos, Mimir), with user and password where it has them. It is asked when an engine that fell silent was last connected; the heartbeats in Redis are where it is not set.',
  ),
  expireAfterMs: setting(
    'GWK_WORKER_EXPIRE_AFTER_MS',
    types.integer(1000, 86_400_000).default(900_000),
    'How long a message waits while its instance is out, then `expired` (milliseconds).',
  ),
  unconfirmedTimeoutMs: setting(
    'GWK_WORKER_UNCONFIRMED_TIMEOUT_MS',
    types.integer(1000, 86_400_000).default(900_000),
    'How long a message may be in doubt (sent and never acknowledged), then `timeout` (milliseconds).',
  ),
  messageDays: setting(
    'GWK_WORKER_MESSAGE_DAYS',
    types.integer(1, 3650).default(90),
    'Days that messages are kept.',
  ),
  eventDays: setting(
    'GWK_WORKER_EVENT_DAYS',
    types.integer(1, 3650).default(90),
    'Days that events are kept.',
  ),
  deliveryDays: setting(
    'GWK_WORKER_DELIVERY_DAYS',
    types.integer(1, 3650).default(90),
    'Days that the log of webhook deliveries is kept.',
  ),
  contentHours: setting(
    'GWK_WORKER_CONTENT_HOURS',
    types.integer(0, 168).default(24),
    'Hours that sealed content is kept after its message has left.',
  ),
  stateMonths: setting(
    'GWK_WORKER_STATE_MONTHS',
    types.integer(1, 120).default(25),
    'Months that instance states (availability) are kept.',
  ),
  auditMonths: setting(
    'GWK_WORKER_AUDIT_MONTHS',
    types.integer(1, 120).default(25),
    'Months that the trail of changes (gwk audit) is kept.',
  ),
  monitorFrom: setting(
    'GWK_WORKER_MONITOR_FROM',
    types.matching(/^ins_[0-9a-f]{32}$/, 'the id of an instance (ins_...)').optional(),
    'Instance that sends the checks of interactive formats, shown by GET /v1/status/interactive. No checks when not set.',
  ),
  monitorTo: setting(
    'GWK_WORKER_MONITOR_TO',
    types.matching(/^ins_[0-9a-f]{32}$/, 'the id of an instance (ins_...)').optional(),
    'Instance whose number gets those checks.',
  ),
  monitorEveryMinutes: setting(
    'GWK_WORKER_MONITOR_EVERY_MINUTES',
    types.integer(1, 1440).default(60),
    'Minutes from one check of a format to the next.',
  ),
  ...tracingSettings,
};
